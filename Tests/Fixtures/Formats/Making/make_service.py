#!/usr/bin/env python3
"""Makes a data folder with every kind of row, and the shopping app's file beside it; see README.md.

Usage: make_service.py PRODUCTS FOLDER   (the folder with the built stratus and shopping; a new folder)
"""

import base64
import hashlib
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

PRODUCTS, FOLDER = sys.argv[1], os.path.abspath(sys.argv[2])
DATA, CONTAINER = FOLDER + "/data", "iCloud.org.example.Formats"
SCRATCH = FOLDER + "/scratch"
PORT = 18391
ORIGIN = f"http://127.0.0.1:{PORT}"
PASSWORD = "correct horse battery staple"
SCHEMA = """DEFINE SCHEMA
    CREATE ROLE editor;
    RECORD TYPE Hut (
        "___createTime" TIMESTAMP QUERYABLE SORTABLE,
        "___recordID" REFERENCE QUERYABLE,
        name STRING QUERYABLE SEARCHABLE SORTABLE,
        altitude INT64 QUERYABLE SORTABLE,
        photo ASSET,
        guide REFERENCE QUERYABLE,
        place LOCATION QUERYABLE SORTABLE,
        secret ENCRYPTED BYTES,
        GRANT WRITE TO "_creator",
        GRANT CREATE TO "_icloud",
        GRANT READ, WRITE TO editor,
        GRANT READ TO "_world"
    );
"""


def stratus(*arguments, text=None):
    done = subprocess.run([PRODUCTS + "/stratus", *arguments], input=text, text=True,
                          capture_output=True)
    if done.returncode != 0:
        sys.exit(f"stratus {arguments} failed: {done.stderr}")
    return done.stdout


class Service:
    """`stratus serve --dev` on the data folder, until it is stopped cleanly."""

    def __init__(self, *arguments):
        self.arguments = arguments

    def __enter__(self):
        self.process = subprocess.Popen(
            [PRODUCTS + "/stratus", "serve", "--dev", "--port", str(PORT), "--data", DATA,
             "--identity-providers", SCRATCH + "/providers.json", *self.arguments],
            stdout=subprocess.PIPE)
        assert b"listening" in self.process.stdout.readline()
        return self

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __exit__(self, *_):
        if self.process.returncode is None:
            self.process.terminate()
            assert self.process.wait() == 0


def call(path, body, raw=False):
    data = body if raw else json.dumps(body).encode()
    request = urllib.request.Request(
        path if path.startswith("http") else ORIGIN + path, data,
        {"Content-Type": "application/octet-stream" if raw else "text/plain"})
    try:
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        sys.exit(f"{path}: {error.read().decode()}")


class Person:
    def __init__(self, name, device="phone"):
        answer = call("/dev/sign-in", {"user": name})
        self.name, self.device = name, device
        self.token, self.record_name = answer["ckWebAuthToken"], answer["userRecordName"]

    def ask(self, action, body, database="private", container=CONTAINER):
        query = urllib.parse.urlencode({
            "ckAPIToken": "development", "ckWebAuthToken": self.token, "clientId": self.device,
            "stratusExtensions": "1"})
        place = "" if action.startswith("tokens/") else database + "/"
        answer = call(f"/database/1/{container}/development/{place}{action}?{query}", body)
        for key in ("records", "zones", "subscriptions", "results"):
            for item in answer.get(key) or []:
                if "serverErrorCode" in item:
                    sys.exit(f"{self.name} {action}: {item}")
        return answer

    def modify(self, operations, zone=None, database="private", **more):
        body = {"operations": operations, **more}
        if zone:
            body["zoneID"] = {"zoneName": zone} if isinstance(zone, str) else zone
        return self.ask("records/modify", body, database)["records"]

    def create(self, record_name, zone=None, database="private", record_type="Hut", parent=None,
               more=None, operation=None, **fields):
        record = {"recordName": record_name, "recordType": record_type, "fields": fields,
                  **(more or {})}
        if parent:
            record["parent"] = {"recordName": parent}
        extra = {"operationID": operation} if operation else {}
        return self.modify([{"operationType": "create", "record": record}], zone, database, **extra)[0]

    def upload(self, name, data, zone=None):
        body = {"tokens": [{"recordName": name, "recordType": "Hut", "fieldName": "photo"}]}
        if zone:
            body["zoneID"] = {"zoneName": zone}
        token = self.ask("assets/upload", body)["tokens"][0]
        return call(token["url"], data, raw=True)["singleFile"]

    def make_zone(self, name, **more):
        self.ask("zones/modify", {"operations": [
            {"operationType": "create", "zone": {"zoneID": {"zoneName": name}, **more}}]})


def text(value):
    return {"value": value, "type": "STRING"}


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def make_provider():
    """An identity provider for this folder, with its own key."""
    key = SCRATCH + "/provider.pem"
    subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
    modulus = subprocess.run(["openssl", "rsa", "-in", key, "-noout", "-modulus"], check=True,
                             capture_output=True, text=True).stdout.strip().split("=")[1]
    with open(SCRATCH + "/keys.json", "w") as file:
        json.dump({"keys": [{"kty": "RSA", "kid": "1", "alg": "RS256", "use": "sig", "e": "AQAB",
                             "n": base64url(bytes.fromhex(modulus))}]}, file)
    with open(SCRATCH + "/providers.json", "w") as file:
        json.dump([{"issuer": "https://id.example.org", "audiences": ["org.example.Formats"],
                    "keys": SCRATCH + "/keys.json", "algorithms": ["RS256"]}], file)


def identity_token(subject, nonce):
    now = int(time.time())
    parts = [{"alg": "RS256", "kid": "1", "typ": "JWT"},
             {"iss": "https://id.example.org", "aud": "org.example.Formats", "sub": subject,
              "iat": now, "exp": now + 600, "nonce": nonce}]
    head = ".".join(base64url(json.dumps(part).encode()) for part in parts)
    signature = subprocess.run(
        ["openssl", "dgst", "-sha256", "-sign", SCRATCH + "/provider.pem"],
        input=head.encode(), check=True, capture_output=True).stdout
    return head + "." + base64url(signature)


def make_accounts():
    place = ["--data", DATA, "--container", CONTAINER]
    stratus("user", "create", "--data", DATA, "--email", "alice@example.org", "--given-name", "Alice",
            "--family-name", "Example", "--verified", text=PASSWORD + "\n")
    api_token = stratus("token", "create", *place, "--origin", "https://formats.example.org",
                        "--callback-url", "https://formats.example.org/back").split("=", 1)[1].strip()
    production = stratus("token", "create", *place, "--environment", "production", "--user",
                         "alice@example.org")
    with open(SCRATCH + "/schema", "w") as file:
        file.write(SCHEMA)
    stratus("schema", "import", SCRATCH + "/schema", *place)
    stratus("schema", "deploy", *place)
    stratus("role", "assign", "editor", "alice@example.org", *place)
    key = SCRATCH + "/server.pem"
    subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key],
                   check=True, capture_output=True)
    subprocess.run(["openssl", "ec", "-in", key, "-pubout", "-out", key + ".pub"], check=True,
                   capture_output=True)
    stratus("key", "add", *place, key + ".pub")
    return api_token, dict(line.split("=", 1) for line in production.split())


def make_records(alice, bob, carol, api_token):
    facts = {"alice": alice.record_name, "bob": bob.record_name}
    call("/auth/oidc?ckAPIToken=" + api_token, {
        "container": CONTAINER, "environment": "development", "nonce": "nonce",
        "identityToken": identity_token("subject-1", "nonce")})
    alice.ask("users/permission", {"userDiscoverability": True}, "public")
    # Before the records, so that their changes have a receiver.
    alice.make_zone("Trips")
    alice.make_zone("Gone")
    alice.make_zone("Purged")
    alice.make_zone("Sealed", encryptionScope="PER_ZONE")
    for identifier, subscription in [
        ("all", {"subscriptionType": "database"}),
        ("trips", {"subscriptionType": "zone", "zoneID": {"zoneName": "Trips"}}),
        ("high", {"subscriptionType": "query", "firesOn": ["create", "update"], "query": {
            "recordType": "Hut", "filterBy": [{
                "fieldName": "altitude", "comparator": "GREATER_THAN",
                "fieldValue": {"value": 2000}}]}, "notificationInfo": {"alertBody": "High"}}),
    ]:
        alice.ask("subscriptions/modify", {"operations": [
            {"operationType": "create", "subscription": {
                "subscriptionID": identifier, **subscription}}]})
    alice.ask("tokens/create", {"apnsEnvironment": "development"})
    # Plain records, every type of value, a reference that deletes, an asset, an encrypted value.
    facts["emptyZoneToken"] = alice.ask("changes/zone", {"zones": [
        {"zoneID": {"zoneName": "Trips"}}]})["zones"][0]["syncToken"]
    facts["emptyDatabaseToken"] = alice.ask("changes/database", {})["syncToken"]
    photo = alice.upload("hut", b"a photo", "Trips")
    hut = alice.create(
        "hut", "Trips", operation="operation-1", name=text("Konkordia"),
        altitude={"value": 2850}, photo={"value": photo}, secret={
            "value": base64.b64encode(b"sealed").decode(), "type": "ENCRYPTED_BYTES"},
        place={"value": {"latitude": 46.5, "longitude": 8.04}, "type": "LOCATION"})
    alice.create("guide", "Trips", record_type="Guide", name=text("Melchior"),
                 huts={"value": ["a", "b"], "type": "STRING_LIST"},
                 born={"value": -3_000_000_000_000, "type": "TIMESTAMP"})
    alice.create("second hut", "Trips", name=text("Finsteraarhorn"), altitude={"value": 3048},
                 guide={"value": {"recordName": "guide", "action": "DELETE_SELF"},
                        "type": "REFERENCE"})
    alice.modify([{"operationType": "update", "record": {
        "recordName": "hut", "recordType": "Hut", "recordChangeTag": hut["recordChangeTag"],
        "fields": {"altitude": {"value": 2851}}}}], "Trips")
    facts["tripsToken"] = alice.ask("changes/zone", {"zones": [
        {"zoneID": {"zoneName": "Trips"}}]})["zones"][0]["syncToken"]
    # After the token: a tombstone, a child of the hut, and a record that is no longer its child.
    alice.create("short-lived", "Trips", name=text("Bivouac"))
    alice.modify([{"operationType": "forceDelete", "record": {"recordName": "short-lived"}}], "Trips")
    alice.create("bed", "Trips", parent="hut", name=text("Bed"))
    moved = alice.create("moved bed", "Trips", parent="hut", name=text("Moved bed"))
    alice.upload("nobody", b"an asset that no record holds", "Trips")
    alice.create("sealed", "Sealed", name=text("Sealed"))
    alice.create("purged", "Purged", name=text("Purged"))
    alice.ask("zones/modify", {"operations": [
        {"operationType": "delete", "zone": {"zoneID": {"zoneName": "Gone"}}}]})
    # A share of the hut: Bob takes part, one invitation is open, and Carol has requested access.
    share = alice.create(
        "share", "Trips", record_type="cloudkit.share", more={
            "forRecord": {"recordName": "hut", "recordChangeTag": alice.ask("records/lookup", {
                "zoneID": {"zoneName": "Trips"}, "records": [{"recordName": "hut"}]})[
                    "records"][0]["recordChangeTag"]},
            "publicPermission": "NONE", "allowsAccessRequests": True, "participants": [
                {"userIdentity": {"userRecordName": bob.record_name}, "permission": "READ_WRITE"},
                {"userIdentity": {"lookupInfo": {"emailAddress": "dora@example.org"}}}]})
    facts["shortGUID"] = share["shortGUID"]
    link = {"shortGUIDs": [{"value": share["shortGUID"]}]}
    bob.ask("records/accept", link)
    carol.ask("records/requestaccess", link)
    alice.modify([{"operationType": "replace", "record": {
        "recordName": "moved bed", "recordType": "Hut", "recordChangeTag": moved["recordChangeTag"],
        "fields": {"name": text("Moved bed")}}}], "Trips")
    shared = {"zoneName": "Trips", "ownerRecordName": alice.record_name}
    bob.create("bob's bed", shared, "shared", parent="hut", name=text("Bob's bed"))
    facts["sharedToken"] = bob.ask("changes/database", {}, "shared")["syncToken"]
    # A share that is open to everyone with the link, of a whole zone.
    alice.make_zone("Open")
    opened = alice.create("cloudkit.zoneshare", "Open", record_type="cloudkit.share",
                          more={"publicPermission": "READ_ONLY"})
    facts["openShortGUID"] = opened["shortGUID"]
    # The public database, and queries, which build indexes.
    bob.create("public hut", database="public", name=text("Public hut"), altitude={"value": 1500})
    for database, zone in [("private", "Trips"), ("public", None)]:
        query = {"query": {"recordType": "Hut", "filterBy": [{
            "fieldName": "altitude", "comparator": "GREATER_THAN", "fieldValue": {"value": 1000}}],
            "sortBy": [{"fieldName": "name", "ascending": True}]}}
        if zone:
            query["zoneID"] = {"zoneName": zone}
        for _ in range(3):
            alice.ask("records/query", query, database)
    make_compound_index(alice)
    return facts


def make_compound_index(alice):
    """Queries for a few records by a value, sorted so that they come last."""
    alice.make_zone("Many")
    alice.modify([{"operationType": "create", "record": {
        "recordName": f"{number:02}", "recordType": "Hut", "fields": {
            "name": text(f"Hut {number:02}"), "altitude": {"value": max(number, 40)}}}}
        for number in range(40, 0, -1)] + [{"operationType": "create", "record": {
            "recordName": f"last {number:02}", "recordType": "Hut", "fields": {
                "name": text(f"Last {number:02}"), "altitude": {"value": 7}}}}
            for number in range(20)], "Many")
    for _ in range(3):
        alice.ask("records/query", {"zoneID": {"zoneName": "Many"}, "resultsLimit": 1, "query": {
            "recordType": "Hut", "filterBy": [{
                "fieldName": "altitude", "comparator": "EQUALS", "fieldValue": {"value": 7}}],
            "sortBy": [{"fieldName": "name", "ascending": True}]}})


LONG = 60


def begin_long_changes(carol):
    """A share, a move out of one, a cascade and a zone's removal whose steps are not done; for a service that
    takes one record a step, and is killed then."""
    reference = {"value": {"recordName": "target", "action": "DELETE_SELF"}, "type": "REFERENCE"}
    for zone, root, fields in [("Shared", "root", {}), ("Cascading", "target", {"guide": reference}),
                               ("Removed", "first", {})]:
        carol.make_zone(zone)
        carol.create(root, zone, name=text(root))
        parent = {"parent": {"recordName": root}} if zone == "Shared" else {}
        carol.modify([{"operationType": "create", "record": {
            "recordName": f"{number:02}", "recordType": "Hut", "fields": fields, **parent}}
            for number in range(LONG)], zone)
    tag = carol.ask("records/lookup", {"zoneID": {"zoneName": "Shared"}, "records": [
        {"recordName": "root"}]})["records"][0]["recordChangeTag"]
    carol.ask("zones/modify", {"operations": [
        {"operationType": "delete", "zone": {"zoneID": {"zoneName": "Removed"}}}]})
    carol.create("share", "Shared", record_type="cloudkit.share", more={
        "forRecord": {"recordName": "root", "recordChangeTag": tag}, "publicPermission": "READ_ONLY"})
    carol.modify([{"operationType": "forceDelete", "record": {"recordName": "target"}}], "Cascading")
    carol.make_zone("Leaving")
    root = carol.create("root", "Leaving", name=text("root"))
    carol.create("branch", "Leaving", parent="root", name=text("branch"))
    carol.modify([{"operationType": "create", "record": {
        "recordName": f"{number:02}", "recordType": "Hut", "fields": {},
        "parent": {"recordName": "branch"}}} for number in range(LONG)], "Leaving")
    carol.create("share", "Leaving", record_type="cloudkit.share", more={
        "forRecord": {"recordName": "root", "recordChangeTag": root["recordChangeTag"]},
        "publicPermission": "READ_ONLY"})
    carol.modify([{"operationType": "forceReplace", "record": {
        "recordName": "branch", "recordType": "Hut", "fields": {"name": text("branch")}}}], "Leaving")


def shop(name, *lines):
    environment = {**os.environ, "STRATUS_URL": ORIGIN, "STRATUS_API_TOKEN": "development",
                   "STRATUS_DEV_USER": "alice@example.org", "STRATUS_DEVICE_ID": name}
    done = subprocess.run(
        [PRODUCTS + "/shopping", "--data", f"{FOLDER}/shopping-{name}"],
        input="".join(line + "\n" for line in lines), text=True, env=environment,
        capture_output=True)
    assert done.returncode == 0, done.stderr
    print(done.stdout)


def main():
    os.makedirs(SCRATCH)
    make_provider()
    api_token, production = make_accounts()
    with Service("--limit", "recordsReadPerCompoundIndex=1"):
        alice, bob, carol = (Person(name) for name in ("alice@example.org", "bob", "carol"))
        facts = make_records(alice, bob, carol, api_token)
        query = urllib.parse.urlencode({"ckAPIToken": production["STRATUS_API_TOKEN"],
                                        "ckWebAuthToken": production["STRATUS_WEB_AUTH_TOKEN"]})
        call(f"/database/1/{CONTAINER}/production/private/records/modify?{query}", {"operations": [
            {"operationType": "create", "record": {
                "recordName": "in production", "recordType": "Hut",
                "fields": {"name": text("Production hut")}}}]})
        # Every action on a shopping list, then changes that only the device has.
        shop("phone", "new Groceries", "add Milk", "add Bread", "add Eggs", "tick Milk",
             "tick Bread", "untick Bread", "rename Bread to Rye bread", "move Eggs after Milk",
             "colour green", "add Salt", "remove Salt", "title Weekly shopping", "sync",
             "offline", "add Coffee", "tick Eggs", "new Camping", "add Gas", "show", "status")
    service = Service("--limit", "recordsPerStep=1", "--limit", "recordsPerCascade=10",
                      "--limit", "recordsPerShareChange=10")
    with service:
        carol = Person("carol")
        facts["carol"] = carol.record_name
        begin_long_changes(carol)
        service.kill()
    # Without the service nothing is sent, so the notifications stay in the outbox.
    stratus("zone", "purge", "--data", DATA, "--container", CONTAINER, "--environment",
            "development", "--user", "alice@example.org", "--zone", "Purged")
    facts["password"] = PASSWORD
    facts["photoChecksum"] = hashlib.sha256(b"a photo").hexdigest()
    with open(FOLDER + "/facts.json", "w") as file:
        json.dump(facts, file, indent=4, sort_keys=True)


main()
