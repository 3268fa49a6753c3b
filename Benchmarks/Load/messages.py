"""Requests as StratusClient sends them; only the values differ."""
import json
import random
import uuid
from dataclasses import dataclass
from urllib.parse import quote

CONTAINER = "iCloud.org.example.Benchmark"
ENVIRONMENT = "production"
RECORDS_PER_REQUEST = 400

SCHEMA = """DEFINE SCHEMA
    RECORD TYPE Item (
        "___recordID" REFERENCE QUERYABLE,
        title         STRING QUERYABLE,
        note          STRING,
        "count"       INT64 QUERYABLE SORTABLE,
        position      INT64,
        price         DOUBLE,
        GRANT WRITE TO "_creator",
        GRANT CREATE TO "_icloud",
        GRANT READ TO "_world"
    );
"""


@dataclass
class Account:
    api_token: str
    web_auth_token: str
    record_name: str


def http(account, path, body=None, device="bench-writer"):
    """One request: a GET if it has no body."""
    module = f"device/1/{CONTAINER}/{ENVIRONMENT}" if path.startswith("tokens/") \
        else f"database/1/{CONTAINER}/{ENVIRONMENT}/private"
    address = (f"/{module}/{path}?ckAPIToken={quote(account.api_token, safe='')}"
               f"&ckWebAuthToken={quote(account.web_auth_token, safe='')}"
               f"&clientId={device}&stratusExtensions=1")
    return raw_http(address, None if body is None else compact(body))


def raw_http(address, body=None):
    if body is None:
        return f"GET {address} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode()
    return (f"POST {address} HTTP/1.1\r\nContent-Type: application/json\r\nhost: 127.0.0.1\r\n"
            f"Content-Length: {len(body)}\r\n\r\n").encode() + body


def compact(value):
    return json.dumps(value, separators=(",", ":")).encode()


class Names:
    """Record names and operation identifiers: random UUIDs, the same in every run."""

    def __init__(self, seed):
        self._random = random.Random(seed)

    def next(self):
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4)).upper()


def fields(number):
    """Five fields. Ten records share a title, so that a query for one has ten results."""
    return {
        "count": {"value": number, "type": "INT64"},
        "note": {"value": "Bought by Alice on a Saturday", "type": "STRING"},
        "position": {"value": 7 * number, "type": "INT64"},
        "price": {"value": number / 8, "type": "DOUBLE"},
        "title": {"value": f"Item number {number // 10}", "type": "STRING"},
    }


def save(account, zone, names, numbers, identifiers, operation_type="create"):
    """A records/modify with one record for each name."""
    operations = [
        {"operationType": operation_type,
         "record": {"recordName": name, "recordType": "Item", "fields": fields(number),
                    "zoneID": {"zoneName": zone}},
         "desiredKeys": []}
        for name, number in zip(names, numbers)
    ]
    body = {"operations": operations, "atomic": False, "operationID": identifiers.next()}
    return http(account, "records/modify", body)


def batches(account, zone, record_count, seed, per_request=RECORDS_PER_REQUEST, first=0):
    """Requests that save new records, and the names of the records."""
    names = Names(f"{seed} records")
    identifiers = Names(f"{seed} operations")
    for start in range(first, first + record_count, per_request):
        numbers = range(start, min(start + per_request, first + record_count))
        yield save(account, zone, [names.next() for _ in numbers], numbers, identifiers)


def first_names(seed, count):
    names = Names(f"{seed} records")
    return [names.next() for _ in range(count)]


def changes(account, zone, token=None):
    asked = {"zoneID": {"zoneName": zone}}
    if token:
        asked["syncToken"] = token
    return http(account, "changes/zone", {"zones": [asked]})


def query_by_title(account, zone, number):
    query = {"recordType": "Item", "filterBy": [
        {"comparator": "EQUALS", "fieldName": "title",
         "fieldValue": {"value": f"Item number {number}", "type": "STRING"}}]}
    return http(account, "records/query", {"query": query, "zoneID": {"zoneName": zone}})


def query_by_count(account, zone, number):
    query = {"recordType": "Item", "filterBy": [
        {"comparator": "GREATER_THAN_OR_EQUALS", "fieldName": "count",
         "fieldValue": {"value": number, "type": "INT64"}}],
        "sortBy": [{"fieldName": "count", "ascending": True}]}
    return http(account, "records/query",
                {"query": query, "zoneID": {"zoneName": zone}, "resultsLimit": 20})
