#!/usr/bin/env bash
# A server-to-server client of curl and openssl, which shows every byte that is signed and sent.
#
# Usage: server_to_server_test.sh URL CONTAINER KEY_ID PRIVATE_KEY.pem
set -euo pipefail
url=${1%/} container=$2 key_id=$3 key=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
base=/database/1/$container/development/public

# signed DATE PATH FILE: prints the signature over date, body and path.
signed() {
    local hash
    hash=$(openssl dgst -sha256 -binary "$3" | openssl base64 -A)
    printf '%s:%s:%s' "$1" "$hash" "$2" | openssl dgst -sha256 -sign "$key" | openssl base64 -A
}

# send PATH FILE DATE SIGNATURE: prints the answer's body, then its status on a separate line.
send() {
    curl -sS --path-as-is -w '\n%{http_code}\n' "$url$1" -X POST \
        -H "X-Apple-CloudKit-Request-KeyID: $key_id" \
        -H "X-Apple-CloudKit-Request-ISO8601Date: $3" \
        -H "X-Apple-CloudKit-Request-SignatureV1: $4" \
        -H 'Content-Type: text/plain' --data-binary "@$2"
}

# expect STATUS TEXT ANSWER: checks that the answer has the status, and contains the text.
expect() {
    local status=${3##*$'\n'}
    if [ "$status" != "$1" ] || [[ "$3" != *"$2"* ]]; then
        echo "Expected $1 with $2, got: $3" >&2
        exit 1
    fi
}

now=$(date -u +%Y-%m-%dT%H:%M:%SZ)

# Bytes that JSON writers do not produce: spaces, escapes, a tab, a newline at the end.
printf '{ "operations" :\t[{"operationType":"forceReplace","record":{"recordName":"curl-1",' >"$folder/save"
printf '"recordType":"Hut","fields":{"name":{"value":"H\\u00fctte \\/ \\u2211"}}}}]  }\n' >>"$folder/save"
path="$base/records/modify?ckjsVersion=2.6.4&note=%7e%41%2f"
signature=$(signed "$now" "$path" "$folder/save")
first=$(send "$path" "$folder/save" "$now" "$signature")
expect 200 'Hütte / ∑' "$first"

# The same bytes again get the first outcome, and nothing is saved twice.
again=$(send "$path" "$folder/save" "$now" "$signature")
if [ "$again" != "$first" ]; then
    printf 'A repeated save was answered with\n%s\nand not with its first outcome:\n%s\n' "$again" "$first" >&2
    exit 1
fi

# Refused: one more byte in the body, and a query that means the same as the signed one.
printf '{"records":[{"recordName":"curl-1"}]}' >"$folder/look"
path=$base/records/lookup
signature=$(signed "$now" "$path" "$folder/look")
printf '{"records":[{"recordName":"curl-1"}]} ' >"$folder/longer"
expect 401 AUTHENTICATION_FAILED "$(send "$path" "$folder/longer" "$now" "$signature")"
expect 200 '"recordName":"curl-1"' "$(send "$path" "$folder/look" "$now" "$signature")"
signature=$(signed "$now" "$path?note=%41" "$folder/look")
expect 401 AUTHENTICATION_FAILED "$(send "$path?note=A" "$folder/look" "$now" "$signature")"
expect 200 '"recordName":"curl-1"' "$(send "$path?note=%41" "$folder/look" "$now" "$signature")"

# Refused: a date that is too old.
old=$(date -u -d '11 minutes ago' +%Y-%m-%dT%H:%M:%SZ)
signature=$(signed "$old" "$path" "$folder/look")
expect 401 AUTHENTICATION_FAILED "$(send "$path" "$folder/look" "$old" "$signature")"
echo "server to server, with curl and openssl: exact bytes, replay, refusals ok"
