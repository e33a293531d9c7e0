package signing

import (
	"bytes"
	"encoding/base64"
	"errors"
)

// PROTOCOL.sshsig, section 1. ssh-keygen writes lines of 70 characters, other
// tools the 76 of that document or the 64 of PEM; a file uses one of them.
const (
	armorBegin = "-----BEGIN SSH SIGNATURE-----\n"
	armorEnd   = "-----END SSH SIGNATURE-----"
	armorWidth = 70
	maxArmor   = 2 * maxBlob
)

// Armor is the text that ssh-keygen -Y sign writes for the blob.
func Armor(blob []byte) []byte {
	text := base64.StdEncoding.EncodeToString(blob)
	out := []byte(armorBegin)
	for len(text) > armorWidth {
		out = append(append(out, text[:armorWidth]...), '\n')
		text = text[armorWidth:]
	}
	out = append(append(out, text...), '\n')
	return append(out, armorEnd+"\n"...)
}

// Dearmor undoes Armor. It accepts exactly one signature and nothing around it:
// text beside a good signature is text that somebody might take as signed.
// Errors are *UntrustedError with sig_invalid.
func Dearmor(text []byte) ([]byte, error) {
	blob, err := dearmor(text)
	if err != nil {
		return nil, &UntrustedError{code: CodeSigInvalid, what: "read armored signature", cause: err}
	}
	return blob, nil
}

func dearmor(text []byte) ([]byte, error) {
	if len(text) > maxArmor {
		return nil, errors.New("longer than 16 KiB")
	}
	body, ok := bytes.CutPrefix(text, []byte(armorBegin))
	if !ok {
		return nil, errors.New("does not begin with the line BEGIN SSH SIGNATURE")
	}
	body, ok = bytes.CutSuffix(bytes.TrimSuffix(body, []byte("\n")), []byte("\n"+armorEnd))
	if !ok {
		return nil, errors.New("does not end with the line END SSH SIGNATURE")
	}
	joined, err := join(bytes.Split(body, []byte("\n")))
	if err != nil {
		return nil, err
	}
	// The decoder skips line breaks by itself; join has left none. Strict also
	// refuses bits that are not zero in the padding.
	blob, err := base64.StdEncoding.Strict().AppendDecode(nil, joined)
	if err != nil {
		return nil, errors.New("not base64")
	}
	return blob, nil
}

// join puts the lines together: all as long as the first, the last not longer.
func join(lines [][]byte) ([]byte, error) {
	width, last := len(lines[0]), len(lines)-1
	if last > 0 && width != 64 && width != armorWidth && width != 76 {
		return nil, errors.New("lines are not 64, 70 or 76 characters long")
	}
	for i, l := range lines {
		switch {
		case len(l) == 0 || len(l) > 76:
			return nil, errors.New("line is empty or too long")
		case i < last && len(l) != width, len(l) > width:
			return nil, errors.New("lines differ in length")
		case bytes.ContainsAny(l, "\r\n"):
			return nil, errors.New("carriage return")
		}
	}
	return bytes.Join(lines, nil), nil
}
