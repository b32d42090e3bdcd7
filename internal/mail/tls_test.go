package mail_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/mail"
)

// certificate is trusted by this process: it is made before anything reads the system's roots.
var certificate tls.Certificate

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "gpunex-mail")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			panic(err)
		}
		template := &x509.Certificate{
			SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true,
			BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		}
		der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		if err != nil {
			panic(err)
		}
		certificate = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
		file := filepath.Join(dir, "root.pem")
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
			panic(err)
		}
		if err := os.Setenv("SSL_CERT_FILE", file); err != nil {
			panic(err)
		}
		return m.Run()
	}())
}

// speak is a mail server for one connection that wants a sign-in under encryption; it gives what the client said.
func speak(t *testing.T, startTLS bool) (addr string, said func() string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	done := make(chan string, 1)
	go func() {
		var b strings.Builder
		defer func() { done <- b.String() }()
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		config := &tls.Config{Certificates: []tls.Certificate{certificate}}
		secure := !startTLS
		if secure {
			c = tls.Server(c, config)
		}
		in := bufio.NewReader(c)
		fmt.Fprint(c, "220 test\r\n")
		for data := false; ; {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			fmt.Fprintf(&b, "%v %s", secure, line)
			verb, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			switch {
			case data:
				if strings.TrimSpace(line) == "." {
					data = false
					fmt.Fprint(c, "250 taken\r\n")
				}
			case verb == "EHLO" && !secure:
				fmt.Fprint(c, "250-test\r\n250 STARTTLS\r\n")
			case verb == "EHLO":
				fmt.Fprint(c, "250-test\r\n250 AUTH PLAIN\r\n")
			case verb == "STARTTLS":
				fmt.Fprint(c, "220 go\r\n")
				c = tls.Server(c, config)
				in, secure = bufio.NewReader(c), true
			case verb == "AUTH":
				fmt.Fprint(c, "235 welcome\r\n")
			case verb == "DATA":
				data = true
				fmt.Fprint(c, "354 go on\r\n")
			case verb == "QUIT":
				fmt.Fprint(c, "221 bye\r\n")
				return
			default:
				fmt.Fprint(c, "250 ok\r\n")
			}
		}
	}()
	return l.Addr().String(), func() string { l.Close(); return <-done }
}

func TestEncryptionAndSignIn(t *testing.T) {
	plain := base64.StdEncoding.EncodeToString([]byte("\x00us/er\x00p@ss word"))
	for mode, startTLS := range map[string]bool{"starttls": true, "tls": false} {
		addr, said := speak(t, startTLS)
		s, err := mail.NewSMTP("smtp://us%2Fer:p%40ss%20word@" + addr + "?from=gpunex@mail.example&tls=" + mode)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Send(t.Context(), mail.Message{ID: "eml_1", To: "a@b.example", Subject: "x", Body: "x"}); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
		got := said()
		if !strings.Contains(got, "true AUTH PLAIN "+plain) || strings.Contains(got, "false AUTH") || strings.Contains(got, "false MAIL") || !strings.Contains(got, "true RCPT TO:<a@b.example>") {
			t.Errorf("%s: the client said\n%s", mode, got)
		}
	}
}

func TestCertificateOfAnotherServerIsRefused(t *testing.T) {
	addr, said := speak(t, false)
	_, port, _ := net.SplitHostPort(addr)
	s, err := mail.NewSMTP("smtp://u:p@localhost:" + port + "?tls=tls") // the certificate is for 127.0.0.1
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(t.Context(), mail.Message{ID: "eml_1", To: "a@b.example", Subject: "x", Body: "x"}); err == nil {
		t.Error("sent to a server that proved nothing")
	}
	if got := said(); got != "" {
		t.Errorf("the client said\n%s", got)
	}
}
