"""A client of another project, against a served instance.

Usage: pyicloud_test.py URL   (the service runs with --dev)

Runs twice: lenient, and with PYICLOUD_CK_EXTRA=forbid, where a key that the client does not know is an
error.
"""

import os
import sys
import uuid

import requests
from pyicloud.common.cloudkit.client import CloudKitApiError, CloudKitContainerClient
from pyicloud.common.cloudkit.models import (
    CKModifyOperation,
    CKQueryFilterBy,
    CKQueryObject,
    CKQuerySortBy,
    CKRecord,
    CKTombstoneRecord,
    CKWriteRecord,
    CKZoneChangesZoneReq,
    CKZoneID,
    CKZoneIDReq,
)

CONTAINER = "iCloud.org.example.PyiCloud"


def operation(kind, record_name, tag=None, **fields):
    record = {"recordName": record_name, "recordType": "Hut", "fields": fields}
    if tag:
        record["recordChangeTag"] = tag
    return CKModifyOperation(operationType=kind, record=CKWriteRecord(**record))


def text(value):
    return {"value": value, "type": "STRING"}


def number(value):
    return {"value": value, "type": "INT64"}


def run(origin, mode):
    os.environ["PYICLOUD_CK_EXTRA"] = mode
    user = f"pyicloud-{mode}-{uuid.uuid4()}"
    signed_in = requests.post(f"{origin}/dev/sign-in", json={"user": user}, timeout=10).json()
    params = {
        "ckAPIToken": "development",
        "ckWebAuthToken": signed_in["ckWebAuthToken"],
        "getCurrentSyncToken": True,
    }
    base = f"{origin}/database/1/{CONTAINER}/development/private"
    client = CloudKitContainerClient(base, requests.Session(), params)

    names = [zone.zoneID.zoneName for zone in client.zones_list().zones]
    assert names == ["_defaultZone"], names
    before = client.database_changes()
    client.raw_post(
        "/zones/modify",
        {"operations": [{"operationType": "create", "zone": {"zoneID": {"zoneName": "Trips"}}}]},
    )
    zone = CKZoneIDReq(zoneName="Trips")
    names = [zone.zoneID.zoneName for zone in client.zones_list().zones]
    assert sorted(names) == ["Trips", "_defaultZone"], names
    changed = client.database_changes(sync_token=before.syncToken)
    assert [z.zoneID.zoneName for z in changed.zones] == ["Trips"], changed
    assert changed.zones[0].zoneID.ownerRecordName == signed_in["userRecordName"]

    saved = []
    for start in range(0, 250, 50):
        answer = client.modify(
            operations=[
                operation("create", f"hut-{i}", name=text(f"Hut {i}"), beds=number(i))
                for i in range(start, start + 50)
            ],
            zone_id=zone,
            atomic=True,
        )
        saved += answer.records
    assert len(saved) == 250
    assert all(isinstance(record, CKRecord) for record in saved)
    tag = saved[3].recordChangeTag

    found = client.lookup(["hut-3", "hut-4"], zone_id=zone, desired_keys=["name"])
    assert [r.recordName for r in found.records] == ["hut-3", "hut-4"]
    assert found.records[0].fields.get_value("name") == "Hut 3"
    assert found.records[0].fields.get_field("beds") is None

    updated = client.modify(
        operations=[operation("update", "hut-3", tag=tag, beds=number(100))], zone_id=zone
    )
    assert updated.records[0].fields.get_value("beds") == 100
    assert updated.records[0].fields.get_value("name") == "Hut 3"
    try:
        client.modify(operations=[operation("update", "hut-3", tag=tag, beds=number(1))], zone_id=zone)
        raise SystemExit("a stale change tag was accepted")
    except CloudKitApiError as error:
        assert "CONFLICT" in str(error.payload), error.payload

    query = CKQueryObject(
        recordType="Hut",
        filterBy=[
            CKQueryFilterBy(
                comparator="GREATER_THAN",
                fieldName="beds",
                fieldValue={"value": 40, "type": "INT64"},
            )
        ],
        sortBy=[CKQuerySortBy(fieldName="beds", ascending=False)],
    )
    page = client.query(query=query, zone_id=zone, results_limit=100)
    beds = [record.fields.get_value("beds") for record in page.records]
    while page.continuationMarker:
        page = client.query(
            query=query, zone_id=zone, results_limit=100, continuation=page.continuationMarker
        )
        beds += [record.fields.get_value("beds") for record in page.records]
    assert beds == sorted(list(range(41, 250)) + [100], reverse=True), beds

    client.modify(operations=[operation("forceDelete", "hut-9")], zone_id=zone)
    request = CKZoneChangesZoneReq(zoneID=CKZoneID(zoneName="Trips"))
    pages = list(client.iter_changes(zone_req=request, results_limit=100))
    assert len(pages) >= 3 and not pages[-1].moreComing
    records = [record for page in pages for record in page.records]
    live = [record for record in records if isinstance(record, CKRecord)]
    assert len(live) == 249, len(live)
    # Without a token a deletion is reported only to the device that made the record.
    gone = {record.recordName for record in records if isinstance(record, CKTombstoneRecord)}
    assert gone <= {"hut-9"}, gone

    current = client.query_sync_token(query=query, zone_id=zone)
    assert current, "getCurrentSyncToken=true brings a token with every answer about a zone"
    client.modify(operations=[operation("forceDelete", "hut-10")], zone_id=zone)
    for token in (pages[-1].syncToken, current):
        request = CKZoneChangesZoneReq(zoneID=CKZoneID(zoneName="Trips"), syncToken=token)
        (page,) = client.iter_changes(zone_req=request)
        assert [(type(r), r.recordName) for r in page.records] == [(CKTombstoneRecord, "hut-10")]
    print(f"pyicloud {mode}: zones_list, database_changes, modify, lookup, query, iter_changes ok")


if __name__ == "__main__":
    for mode in ("allow", "forbid"):
        run(sys.argv[1].rstrip("/"), mode)
