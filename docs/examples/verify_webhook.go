// Verifies a webhook's request: go run verify_webhook.go WEBHOOK-ID WEBHOOK-TIMESTAMP WEBHOOK-SIGNATURE KEY < body
package main

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

const tolerance = 300 * time.Second

// IsSigned says whether key signed the request: the secret, or a public key whpk_…. body holds the bytes as they came.
func IsSigned(id, timestamp, signatures string, body []byte, key string) bool {
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > tolerance {
		return false
	}
	signed := append([]byte(id+"."+timestamp+"."), body...)
	for _, each := range strings.Split(signatures, " ") {
		version, text, _ := strings.Cut(each, ",")
		signature, err := base64.StdEncoding.DecodeString(text)
		if err == nil && isBy(key, version, signed, signature) {
			return true
		}
	}
	return false
}

func isBy(key, version string, signed, signature []byte) bool {
	if text, isPublic := strings.CutPrefix(key, "whpk_"); isPublic {
		public, err := base64.StdEncoding.DecodeString(text)
		return err == nil && version == "v1a" && len(public) == ed25519.PublicKeySize &&
			ed25519.Verify(public, signed, signature)
	}
	secret := []byte(key)
	if text, isBase64 := strings.CutPrefix(key, "whsec_"); isBase64 {
		decoded, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return false
		}
		secret = decoded
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write(signed)
	return version == "v1" && hmac.Equal(mac.Sum(nil), signature)
}

func main() {
	body, err := io.ReadAll(os.Stdin)
	if err != nil || len(os.Args) != 5 || !IsSigned(os.Args[1], os.Args[2], os.Args[3], body, os.Args[4]) {
		os.Exit(1)
	}
}
