package account

import "time"

// SetClock sets the clock of the session store.
func (s *Service) SetClock(now func() time.Time) { s.now = now }

// Nobody is the hash that stands in for an unknown person's, Argon what all others are made with.
var Nobody, Argon = nobody, argon
