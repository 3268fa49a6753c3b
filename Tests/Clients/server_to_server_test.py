"""A server-to-server client written from the protocol's description alone, against a served instance.

Usage: server_to_server_test.py URL CONTAINER KEY_ID PRIVATE_KEY.pem

Signs with `cryptography`, sends with `requests`. Message and headers: three parts joined by colons
(date, base64 of the body's SHA-256, path with query), ECDSA over P-256 with SHA-256, DER, base64.
"""

import base64
import datetime
import hashlib
import json
import sys

import requests
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


class Server:
    def __init__(self, origin, container, key_id, key):
        self.origin = origin
        self.base = f"/database/1/{container}/development"
        self.key_id = key_id
        self.key = key
        self.session = requests.Session()

    def signed(self, body, subpath, date=None, body_hash=None):
        now = datetime.datetime.now(datetime.timezone.utc)
        date = date or now.strftime("%Y-%m-%dT%H:%M:%SZ")
        if body_hash is None:
            body_hash = base64.b64encode(hashlib.sha256(body).digest()).decode()
        message = ":".join([date, body_hash, subpath]).encode()
        signature = self.key.sign(message, ec.ECDSA(hashes.SHA256()))
        return {
            "X-Apple-CloudKit-Request-KeyID": self.key_id,
            "X-Apple-CloudKit-Request-ISO8601Date": date,
            "X-Apple-CloudKit-Request-SignatureV1": base64.b64encode(signature).decode(),
        }

    def post(self, action, payload, database="public", query="", headers=None):
        body = json.dumps(payload).encode()
        path = f"{self.base}/{database}/{action}"
        headers = headers or self.signed(body, path + query)
        return self.session.post(self.origin + path + query, data=body, headers=headers, timeout=10)


def refused(answer):
    assert answer.status_code == 401, (answer.status_code, answer.text)
    body = answer.json()
    assert body["serverErrorCode"] == "AUTHENTICATION_FAILED", body
    assert body["reason"] == "Authentication failed", body


def run(origin, container, key_id, key):
    server = Server(origin, container, key_id, key)
    operations = [
        {
            "operationType": "forceReplace",
            "record": {
                "recordName": f"hut-{i}",
                "recordType": "Hut",
                "fields": {"name": {"value": f"Hütte {i}"}, "beds": {"value": i}},
            },
        }
        for i in range(20)
    ]
    saved = server.post("records/modify", {"operations": operations})
    assert saved.status_code == 200, saved.text
    creators = {record["created"]["userRecordName"] for record in saved.json()["records"]}
    caller = server.post("users/caller", {}).json()
    assert creators == {caller["userRecordName"]}, (creators, caller)

    found = server.post(
        "records/query",
        {
            "query": {
                "recordType": "Hut",
                "filterBy": [
                    {
                        "fieldName": "beds",
                        "comparator": "GREATER_THAN",
                        "fieldValue": {"value": 14, "type": "INT64"},
                    }
                ],
                "sortBy": [{"fieldName": "beds", "ascending": False}],
            }
        },
        query="?ckjsBuildVersion=2420&clientId=a%2Fb",
    )
    names = [record["recordName"] for record in found.json()["records"]]
    assert names == ["hut-19", "hut-18", "hut-17", "hut-16", "hut-15"], found.text

    # A GET with an empty body, whose hash is signed in both ways.
    path = f"{server.base}/public/zones/list"
    for body_hash in (None, ""):
        answer = server.session.get(
            origin + path, headers=server.signed(b"", path, body_hash=body_hash), timeout=10
        )
        assert answer.status_code == 200, answer.text

    # The path is signed without its query.
    headers = server.signed(b"{}", path)
    answer = server.session.post(origin + path + "?x=1", data=b"{}", headers=headers, timeout=10)
    assert answer.status_code == 200, answer.text
    # A repeated read is answered again; the signature is not valid for another address.
    again = server.session.post(origin + path + "?x=1", data=b"{}", headers=headers, timeout=10)
    assert again.status_code == 200 and again.json() == answer.json(), again.text
    refused(server.session.post(origin + path + "?x=2", data=b"{}", headers=headers, timeout=10))

    # Requests that must be refused, all with the same error.
    old = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(minutes=11)
    refused(
        server.post(
            "zones/list", {}, headers=server.signed(b"{}", path, old.strftime("%Y-%m-%dT%H:%M:%SZ"))
        )
    )
    refused(server.post("zones/list", {"other": 1}, headers=server.signed(b"{}", path)))
    refused(server.post("zones/list", {}, query="?ckAPIToken=" + "0" * 64))
    stranger = Server(origin, container, key_id, ec.generate_private_key(ec.SECP256R1()))
    refused(stranger.post("zones/list", {}))
    unknown = Server(origin, container, "0" * 64, key)
    refused(unknown.post("zones/list", {}))

    for database in ("private", "shared"):
        answer = server.post("zones/list", {}, database=database)
        assert answer.status_code == 403, answer.text
        assert answer.json()["serverErrorCode"] == "ACCESS_DENIED", answer.text
    print("server to server, in Python: modify, query, GET, replay, refusals ok")


if __name__ == "__main__":
    url, container_name, identifier, key_file = sys.argv[1:]
    with open(key_file, "rb") as file:
        private_key = serialization.load_pem_private_key(file.read(), password=None)
    run(url.rstrip("/"), container_name, identifier, private_key)
