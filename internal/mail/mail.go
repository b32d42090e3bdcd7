package mail

import "context"

// Message is one plain-text email.
type Message struct {
	ID      string // becomes the Message-ID, so that sending twice is seen as one
	To      string
	Subject string
	Body    string
}

// Sender sends one message. Sending the same one again must be harmless but may deliver it twice.
type Sender interface {
	Send(ctx context.Context, m Message) error
}
