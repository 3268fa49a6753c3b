/// Valid requests for every endpoint, which the fuzzer then mutates.
enum FuzzCorpus {
    struct Example: Sendable {
        var action: String
        var body: String

        init(_ action: String, _ body: String) {
            self.action = action
            self.body = body
        }
    }

    /// `OWNER` is replaced by the record name of the zone's owner.
    static let examples: [Example] = records + changes + zones + subscriptions + people + sharing

    private static let trips =
        #"{"zoneName":"Trips","ownerRecordName":"OWNER","zoneType":"REGULAR_CUSTOM_ZONE"}"#

    private static let records = [
        Example(
            "records/modify",
            #"""
            {"zoneID":\#(trips),"atomic":true,"desiredKeys":["name"],"operations":[
            {"operationType":"create","record":{"recordType":"Hut","recordName":"hut-1","fields":{
            "name":{"value":"Gipfelblick","type":"STRING"},"beds":{"value":24,"type":"INT64"},
            "height":{"value":2100.5,"type":"DOUBLE"},
            "openedAt":{"value":1748736000000,"type":"TIMESTAMP"},
            "key":{"value":"AAEC","type":"BYTES"},"tags":{"value":["a","b"],"type":"STRING_LIST"},
            "years":{"value":[1,2],"type":"INT64_LIST"},
            "place":{"value":{"latitude":47.1,"longitude":11.2,"timestamp":5},"type":"LOCATION"},
            "trail":{"value":{"recordName":"trail-1","action":"DELETE_SELF"},"type":"REFERENCE"},
            "near":{"value":[{"recordName":"trail-1","action":"NONE"}],"type":"REFERENCE_LIST"}}}},
            {"operationType":"forceUpdate","record":{"recordType":"Trail","recordName":"trail-1",
            "fields":{"name":{"value":"Höhenweg"},"lengthKm":{"value":21.5}},
            "parent":{"recordName":"root"}}}]}
            """#),
        Example(
            "records/modify",
            #"""
            {"atomic":false,"numbersAsStrings":true,"operations":[
            {"operationType":"forceReplace","record":{"recordType":"Note","recordName":"n-1",
            "fields":{"text":{"value":"hello"},"secretText":{"value":"x","type":"STRING",
            "isEncrypted":true}}}},
            {"operationType":"forceDelete","record":{"recordName":"n-2"}},
            {"operationType":"update","record":{"recordName":"n-1","recordChangeTag":"1.aaaa",
            "fields":{"text":{"value":null}}}}]}
            """#),
        Example(
            "records/lookup",
            #"{"zoneID":\#(trips),"desiredKeys":["name"],"records":[{"recordName":"hut-1"},{"recordName":"secret-1"}]}"#
        ),
        Example(
            "records/query",
            #"""
            {"zoneID":\#(trips),"resultsLimit":2,"desiredKeys":["name"],"query":{"recordType":"Hut",
            "filterBy":[{"fieldName":"name","comparator":"BEGINS_WITH",
            "fieldValue":{"value":"G","type":"STRING"}},
            {"systemFieldName":"createdTimestamp","comparator":"GREATER_THAN",
            "fieldValue":{"value":1,"type":"TIMESTAMP"}}],
            "sortBy":[{"fieldName":"beds","ascending":false}]}}
            """#),
        Example(
            "records/query",
            #"""
            {"zoneWide":true,"query":{"recordType":"Hut","filterBy":[{"fieldName":"place",
            "comparator":"NEAR","distance":1000,"fieldValue":{"value":{"latitude":47,"longitude":11},
            "type":"LOCATION"}},{"fieldName":"beds","comparator":"IN",
            "fieldValue":{"value":[1,24],"type":"INT64_LIST"}}],
            "sortBy":[{"fieldName":"place","relativeLocation":{"latitude":1,"longitude":2}}]}}
            """#),
        Example("records/changes", #"{"zoneID":\#(trips),"syncToken":"AQAA","resultsLimit":3}"#),
    ]

    private static let changes = [
        Example("changes/database", #"{"syncToken":"AQAA","resultsLimit":5}"#),
        Example("changes/database", "{}"),
        Example(
            "changes/zone",
            #"{"zones":[{"zoneID":\#(trips),"syncToken":"AQAA","resultsLimit":2,"reverse":true,"desiredKeys":["name"],"desiredRecordTypes":["Hut"]},{"zoneID":{"zoneName":"Other"}}]}"#
        ),
        Example("changes/zone", #"{"zones":[{"zoneID":\#(trips)}]}"#),
    ]

    private static let zones = [
        Example("zones/list", "{}"),
        Example("zones/lookup", #"{"zones":[\#(trips),{"zoneName":"Gone"}]}"#),
        Example(
            "zones/modify",
            #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Extra"}}},{"operationType":"delete","zone":{"zoneID":{"zoneName":"Extra2"}}}]}"#
        ),
        Example("zones/changes", #"{"metaSyncToken":"AQAA","resultsLimit":4}"#),
    ]

    private static let subscriptions = [
        Example("subscriptions/list", "{}"),
        Example("subscriptions/lookup", #"{"subscriptions":[{"subscriptionID":"huts"}]}"#),
        Example(
            "subscriptions/modify",
            #"""
            {"operations":[{"operationType":"create","subscription":{"subscriptionID":"huts",
            "subscriptionType":"query","zoneID":\#(trips),"query":{"recordType":"Hut","filterBy":[
            {"fieldName":"beds","comparator":"GREATER_THAN","fieldValue":{"value":1,"type":"INT64"}}]},
            "firesOn":["create","update"],"firesOnce":false,"notificationInfo":{"alertBody":"New",
            "shouldSendContentAvailable":true,"additionalFields":["name"],
            "alertLocalizationArgs":["name"]}}},
            {"operationType":"create","subscription":{"subscriptionID":"all",
            "subscriptionType":"database"}},
            {"operationType":"delete","subscription":{"subscriptionID":"huts"}}]}
            """#),
        Example("operations/cancel", #"{"operationIDs":["a"],"ownerRecordNames":["_owner"]}"#),
        Example("tokens/create", #"{"apnsEnvironment":"development","clientId":"device-1"}"#),
        Example("tokens/register", #"{"apnsEnvironment":"development","apnsToken":"c2FtcGxl"}"#),
    ]

    private static let people = [
        Example("users/caller", "{}"),
        Example("users/current", "{}"),
        Example(
            "users/discover",
            #"{"lookupInfos":[{"emailAddress":"alice@example.org"},{"userRecordName":"OWNER"},{"phoneNumber":"+43 1"}]}"#
        ),
        Example("users/lookup/email", #"{"users":[{"emailAddress":"alice@example.org"}]}"#),
        Example("users/lookup/id", #"{"users":[{"userRecordName":"OWNER"}]}"#),
        Example("users/lookup/contacts", "{}"),
        Example("users/sessions", #"{"revoke":["Y29sZA"]}"#),
        Example("users/permission", #"{"userDiscoverability":true}"#),
    ]

    private static let sharing = [
        Example(
            "records/modify",
            #"""
            {"zoneID":\#(trips),"operations":[{"operationType":"create","record":{
            "recordType":"cloudkit.share","recordName":"share-1","forRecord":{"recordName":"trail-1",
            "recordChangeTag":"1.aaaa"},"publicPermission":"READ_ONLY","fields":{
            "cloudkit.title":{"value":"Trip","type":"STRING"}},"participants":[{"type":"USER",
            "permission":"READ_WRITE","acceptanceStatus":"INVITED",
            "userIdentity":{"lookupInfo":{"emailAddress":"bob@example.org"}}}]}}]}
            """#),
        Example(
            "records/resolve",
            #"{"shortGUIDs":[{"value":"0A1sYkq3ZrT2cWm4","shouldFetchRootRecord":true,"rootRecordDesiredKeys":["name"]}]}"#
        ),
        Example("records/accept", #"{"shortGUIDs":[{"value":"0A1sYkq3ZrT2cWm4"}]}"#),
        Example("records/requestaccess", #"{"shortGUIDs":[{"value":"0A1sYkq3ZrT2cWm4"}]}"#),
        Example(
            "records/modify",
            #"""
            {"zoneID":\#(trips),"operations":[{"operationType":"forceUpdate","record":{
            "recordType":"cloudkit.share","recordName":"share-1","allowsAccessRequests":true,
            "accessRequesters":[{"userRecordName":"OWNER"}],"blockedIdentities":[
            {"userRecordName":"_ab","lookupInfo":{"emailAddress":"bob@example.org"}}]}}]}
            """#),
        Example(
            "zones/modify",
            #"""
            {"operations":[{"operationType":"create","zone":{"zoneID":\#(trips),
            "encryptionScope":"PER_ZONE"}}]}
            """#),
        Example(
            "assets/upload",
            #"{"zoneID":\#(trips),"tokens":[{"recordName":"hut-1","recordType":"Hut","fieldName":"photo"}]}"#
        ),
        Example(
            "assets/rereference",
            #"{"zoneID":\#(trips),"assets":[{"recordName":"hut-1","fieldName":"photo"}]}"#),
    ]

    /// Small ones, so that a change of one value meets each of them often.
    static let subscriptionsToBeSpoiled = [
        Example(
            "subscriptions/modify",
            #"""
            {"operations":[{"operationType":"create","subscription":{"subscriptionID":"q",
            "subscriptionType":"query","query":{"recordType":"Hut","filterBy":[{"fieldName":"beds",
            "comparator":"EQUALS","fieldValue":{"value":1,"type":"INT64"}}],
            "sortBy":[{"fieldName":"beds"}]},"firesOn":["create"]}}]}
            """#),
        Example(
            "subscriptions/modify",
            #"""
            {"operations":[{"operationType":"create","subscription":{"subscriptionID":"d",
            "subscriptionType":"database","query":{"recordType":"Hut","filterBy":[
            {"fieldName":"place","comparator":"NEAR","distance":5,"fieldValue":{"value":
            {"latitude":1,"longitude":2},"type":"LOCATION"}}]}}}]}
            """#),
        Example(
            "subscriptions/modify",
            #"""
            {"operations":[{"operationType":"create","subscription":{"subscriptionID":"z",
            "subscriptionType":"zone","zoneID":{"zoneName":"Trips"},"recordType":"Hut",
            "notificationInfo":{"alertBody":"a","alertLocalizationArgs":["x"]}}}]}
            """#),
    ]
}
