// Package agentlink is the edge towards hosts: it decodes what they say, takes the time, asks the domain and encodes
// the answer. Enrolment and renewal of credentials come over HTTP, everything else as requests on the bus.
//
// Whoever can't be answered properly isn't answered: an answer that says nothing could be read as "nothing should run".
// Hosts repeat what matters.
package agentlink
