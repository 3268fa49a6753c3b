"""pyicloud's CloudKit client and its Reminders service as they are, against a served instance.

Usage: pyicloud_reminders_test.py URL   (the service runs with --dev)

Every request is made by the library, in its strict mode: a key of an answer that it does not know is an
error. Only the environment is said otherwise, since production takes no new types. What is left out is
`reminders` and `list_reminders`: they query a record type that is a program of Apple's service.
"""

import os
import sys
import uuid
from datetime import datetime, timezone

import requests
from pyicloud.common.cloudkit.client import CloudKitApiError, CloudKitContainerClient
from pyicloud.common.cloudkit.models import (
    CKFVInt64,
    CKFVString,
    CKModifyOperation,
    CKQueryFilterBy,
    CKQueryObject,
    CKRecord,
    CKTombstoneRecord,
    CKWriteRecord,
    CKZoneChangesZoneReq,
    CKZoneID,
    CKZoneIDReq,
)
from pyicloud.services.reminders.models import (
    EarlyReminder,
    EarlyReminderUnit,
    Proximity,
    RecurrenceFrequency,
)
from pyicloud.services.reminders.service import RemindersService

ZONE = "Reminders"


class Reminders(RemindersService):
    _ENV = "development"


def operation(kind, record_type, name, fields, tag=None):
    record = {"recordName": name, "recordType": record_type, "fields": fields}
    if tag:
        record["recordChangeTag"] = tag
    return CKModifyOperation(operationType=kind, record=CKWriteRecord(**record))


def signed_in(origin):
    user = f"pyicloud-reminders-{uuid.uuid4()}"
    answer = requests.post(f"{origin}/dev/sign-in", json={"user": user}, timeout=10).json()
    return {
        "ckAPIToken": "development",
        "ckWebAuthToken": answer["ckWebAuthToken"],
        "dsid": "1234567",
    }


def reminders(origin, params):
    """The Reminders service: everything that it can do with one reminder."""
    base = f"{origin}/database/1/{Reminders._CONTAINER}/development/private"
    raw = CloudKitContainerClient(base, requests.Session(), dict(params))
    raw.raw_post(
        "/zones/modify",
        {"operations": [{"operationType": "create", "zone": {"zoneID": {"zoneName": ZONE}}}]},
    )
    zone = CKZoneIDReq(zoneName=ZONE)
    fields = {"Name": {"type": "STRING", "value": "Trip"}, "Count": {"type": "INT64", "value": 0}}
    raw.modify(operations=[operation("create", "List", "List/1", fields)], zone_id=zone)

    service = Reminders(origin, requests.Session(), params, cloudkit_validation_extra="forbid")
    (trip,) = service.lists()
    assert (trip.id, trip.title) == ("List/1", "Trip"), trip
    cursor = service.sync_cursor()

    due = datetime(2026, 12, 24, 9, 0, tzinfo=timezone.utc)
    made = service.create(
        "List/1", "Pack the tent", desc="and the poles", due_date=due, priority=1, flagged=True
    )
    reminder = service.get(made.id)
    assert reminder.title == "Pack the tent" and reminder.desc == "and the poles", reminder
    assert reminder.due_date == due and reminder.flagged and reminder.list_id == "List/1", reminder

    reminder.title = "Pack two tents"
    reminder.completed = True
    service.update(reminder)
    reminder = service.get(made.id)
    assert reminder.title == "Pack two tents" and reminder.completed

    part = service.create("List/1", "Count the pegs", parent_reminder_id=made.id)
    assert service.get(part.id).parent_reminder_id == made.id

    service.set_early_reminders(reminder, [EarlyReminder(count=-3, unit=EarlyReminderUnit.HOURS)])
    reminder = service.get(made.id)
    assert [(alert.count, alert.unit) for alert in reminder.early_reminders] == [(-3, 1)]

    service.set_urgent(reminder, True, person_id="person-1")
    reminder = service.get(made.id)
    assert reminder.urgent and reminder.urgent.enabled, reminder.urgent

    alarm, trigger = service.add_location_trigger(
        reminder, title="Hut", latitude=46.5, longitude=8.1, proximity=Proximity.ARRIVING
    )
    reminder = service.get(made.id)
    (found,) = service.alarms_for(reminder)
    assert found.alarm.id == alarm.id and found.trigger.latitude == 46.5, found
    assert found.trigger.id == trigger.id

    tag = service.create_hashtag(reminder, "camping")
    reminder = service.get(made.id)
    assert [hashtag.name for hashtag in service.tags_for(reminder)] == ["camping"]
    service.update_hashtag(tag, "outdoors")
    reminder = service.get(made.id)
    (tag,) = service.tags_for(reminder)
    assert tag.name == "outdoors"

    link = service.create_url_attachment(reminder, "https://example.org/tent")
    reminder = service.get(made.id)
    (link,) = service.attachments_for(reminder)
    assert link.url == "https://example.org/tent", link
    service.update_attachment(link, url="https://example.org/tents")
    (link,) = service.attachments_for(reminder)
    assert link.url == "https://example.org/tents", link

    rule = service.create_recurrence_rule(reminder, frequency=RecurrenceFrequency.WEEKLY, interval=2)
    reminder = service.get(made.id)
    (rule,) = service.recurrence_rules_for(reminder)
    assert rule.interval == 2, rule
    service.update_recurrence_rule(rule, interval=3)
    (rule,) = service.recurrence_rules_for(reminder)
    assert rule.interval == 3, rule

    service.delete_recurrence_rule(reminder, rule)
    reminder = service.get(made.id)
    service.delete_attachment(reminder, link)
    reminder = service.get(made.id)
    service.delete_hashtag(reminder, tag)
    reminder = service.get(made.id)
    assert not service.tags_for(reminder) and not service.attachments_for(reminder)
    assert not service.recurrence_rules_for(reminder)
    service.set_early_reminders(reminder, [])
    reminder = service.get(made.id)
    service.set_urgent(reminder, False, person_id="person-1")

    events = list(service.iter_changes(since=cursor))
    assert {event.reminder_id for event in events} >= {made.id, part.id}, events
    cursor = service.sync_cursor()
    service.delete(service.get(made.id))
    events = list(service.iter_changes(since=cursor))
    assert [(e.type, e.reminder_id) for e in events] == [("deleted", made.id)], events
    assert len(list(service.iter_changes())) == 2


def cloudkit(origin, params):
    """What the CloudKit client does beyond the Reminders service."""
    base = f"{origin}/database/1/iCloud.org.example.PyiCloud/development"
    client = CloudKitContainerClient(
        f"{base}/private",
        requests.Session(),
        {**params, "getCurrentSyncToken": True, "remapEnums": True},
        validation_extra="forbid",
        bool_param_style="lower",
    )
    client.raw_post(
        "/zones/modify",
        {"operations": [{"operationType": "create", "zone": {"zoneID": {"zoneName": "Trips"}}}]},
    )
    zone = CKZoneIDReq(zoneName="Trips")

    # Every kind of value that the client knows, and pages that end within the records of one request.
    fields = {
        "name": {"type": "STRING", "value": "Hut"},
        "beds": {"type": "INT64", "value": 3},
        "height": {"type": "DOUBLE", "value": 2011.5},
        "opened": {"type": "TIMESTAMP", "value": 1_700_000_000_000},
        "secret": {"type": "ENCRYPTED_BYTES", "value": "AQID"},
        "plain": {"type": "BYTES", "value": "AQID"},
        "tags": {"type": "STRING_LIST", "value": ["a", "b"]},
        "rooms": {"type": "INT64_LIST", "value": [1, 2]},
    }
    operations = [operation("create", "Hut", f"hut-{i}", fields) for i in range(250)]
    (first, *_) = client.modify(operations=operations, zone_id=zone, atomic=True).records
    for name, field in fields.items():
        assert first.fields.get_field(name).type == field["type"], name
    pages = list(client.iter_changes(zone_req=CKZoneChangesZoneReq(zoneID=CKZoneID(zoneName="Trips"))))
    assert [len(page.records) for page in pages] == [200, 50], [len(p.records) for p in pages]
    (page,) = client.changes(
        zone_req=CKZoneChangesZoneReq(zoneID=CKZoneID(zoneName="Trips")), results_limit=7
    ).zones
    assert len(page.records) == 7 and page.moreComing

    # An asset is uploaded, saved in a record, and downloaded.
    data = os.urandom(100_000)
    receipt = client.upload_asset(
        record_type="Hut", field_name="photo", record_name="hut-1", data=data, zone_id=zone
    )
    photo = {"type": "ASSETID", "value": receipt.model_dump(mode="json", exclude_none=True)}
    client.modify(operations=[operation("forceUpdate", "Hut", "hut-1", {"photo": photo})], zone_id=zone)
    (found,) = client.lookup(["hut-1"], zone_id=zone).records
    url = found.fields.get_value("photo").downloadURL
    assert client.download_asset_bytes(url) == data
    assert b"".join(client.download_asset_stream(url, chunk_size=1_000)) == data

    # Queries in one zone and in all zones, with each comparator of the client.
    def matching(*filters, **options):
        query = CKQueryObject(recordType="Hut", filterBy=list(filters))
        return client.query(query=query, results_limit=5, **options)

    def condition(comparator, name, value):
        return CKQueryFilterBy(comparator=comparator, fieldName=name, fieldValue=value)

    three = CKFVInt64(type="INT64", value=3)
    assert len(matching(condition("EQUALS", "beds", three), zone_id=zone).records) == 5
    assert len(matching(condition("EQUALS", "beds", three), zone_wide=True).records) == 5
    hut = CKFVString(type="STRING", value="Hu")
    assert len(matching(condition("BEGINS_WITH", "name", hut), zone_id=zone).records) == 5
    for comparator, count in [
        ("LESS_THAN", 0), ("LESS_THAN_OR_EQUALS", 5), ("GREATER_THAN", 0), ("GREATER_THAN_OR_EQUALS", 5),
    ]:
        assert len(matching(condition(comparator, "beds", three), zone_id=zone).records) == count
    both = {"type": "STRING_LIST", "value": ["x", "b"]}
    assert len(matching(condition("CONTAINS_ANY", "tags", both), zone_id=zone).records) == 5

    # Errors of a record and of a zone arrive in the client's form.
    bad = {"beds": {"type": "INT64", "value": 1}, "name": {"type": "INT64", "value": 1}}
    try:
        client.modify(operations=[operation("create", "Hut", "bad", bad)], zone_id=zone)
        raise SystemExit("a value of another type was accepted")
    except CloudKitApiError as error:
        assert "bad" in str(error) + str(error.payload), error
    token = pages[-1].syncToken
    for kind in ("delete", "create"):
        client.raw_post(
            "/zones/modify",
            {"operations": [{"operationType": kind, "zone": {"zoneID": {"zoneName": "Trips"}}}]},
        )
    try:
        request = CKZoneChangesZoneReq(zoneID=CKZoneID(zoneName="Trips"), syncToken=token)
        client.changes(zone_req=request)
        raise SystemExit("a token of a deleted zone was accepted")
    except CloudKitApiError as error:
        assert "BAD_REQUEST" in str(error) + str(error.payload), error

    client.modify(operations=[operation("create", "Hut", "gone", {})], zone_id=zone)
    cursor = client.changes(zone_req=CKZoneChangesZoneReq(zoneID=CKZoneID(zoneName="Trips"))).zones[0]
    assert [type(record) for record in cursor.records] == [CKRecord]
    client.modify(operations=[operation("forceDelete", "Hut", "gone", {})], zone_id=zone)
    request = CKZoneChangesZoneReq(zoneID=CKZoneID(zoneName="Trips"), syncToken=cursor.syncToken)
    (rest,) = client.changes(zone_req=request).zones
    assert [type(record) for record in rest.records] == [CKTombstoneRecord]


if __name__ == "__main__":
    os.environ["PYICLOUD_CK_EXTRA"] = "forbid"
    url = sys.argv[1].rstrip("/")
    cloudkit(url, signed_in(url))
    print("pyicloud's CloudKit client: values, pages, assets, queries, errors ok")
    reminders(url, signed_in(url))
    print("pyicloud's Reminders service ok")
