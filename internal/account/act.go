package account

import (
	"context"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/fault"
)

// MayAct refuses those who only look. It is the one rule that services share; each adds its own.
func (who Identity) MayAct() error {
	if who.Role == "viewer" {
		return fault.New(fault.Forbidden, "viewers_only_look", "Your role in this account lets you look, not act. Ask its owner")
	}
	return nil
}

// Owners are the people to tell of what happens to an account.
func Owners(ctx context.Context, q db.Querier, accountID string) ([]Person, error) {
	return listOwners(ctx, q, accountID)
}
