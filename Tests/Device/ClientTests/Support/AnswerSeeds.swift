/// An undamaged answer of each endpoint that the client calls, with values of every type.
enum AnswerSeeds {
    private static let zone =
        #"{"zoneName":"Trips","ownerRecordName":"_ida","zoneType":"REGULAR_CUSTOM_ZONE"}"#
    private static let stamp =
        #"{"timestamp":1748800000123,"userRecordName":"_ida","deviceID":"2"}"#

    private static let fields = #"""
        {"name":{"value":"Gipfelblick","type":"STRING"},"beds":{"value":24,"type":"INT64"},
        "height":{"value":2964.5,"type":"DOUBLE"},
        "openedAt":{"value":1748736000000,"type":"TIMESTAMP"},"map":{"value":"AQID","type":"BYTES"},
        "secret":{"value":"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=","type":"BYTES",
        "isEncrypted":true},
        "place":{"value":{"latitude":47.4,"longitude":10.9,"horizontalAccuracy":5,"altitude":2964,
        "timestamp":1748736000000},"type":"LOCATION"},
        "trail":{"value":{"recordName":"t","action":"DELETE_SELF","zoneID":\#(zone)},
        "type":"REFERENCE"},
        "photo":{"value":{"fileChecksum":"AX4e","size":3,"wrappingKey":"pX0v","receipt":"A1Rk",
        "referenceChecksum":"AT9c","downloadURL":"http://127.0.0.1:1/assets/get/x/${f}"},
        "type":"ASSETID"},
        "tags":{"value":["a","b"],"type":"STRING_LIST"},"years":{"value":[1,2],"type":"INT64_LIST"},
        "visits":{"value":[1748736000000],"type":"TIMESTAMP_LIST"},
        "friends":{"value":[{"recordName":"f","action":"NONE"}],"type":"REFERENCE_LIST"},
        "nothing":{"value":[],"type":"UNKNOWN_LIST"}}
        """#

    private static func record(_ name: String, _ fields: String = fields) -> String {
        #"""
        {"recordName":"\#(name)","recordType":"Hut","fields":\#(fields),"pluginFields":{},
        "recordChangeTag":"m3q5","created":\#(stamp),"modified":\#(stamp),"deleted":false,
        "parent":{"recordName":"region"},"zoneID":\#(zone)}
        """#
    }

    private static let owner = #"""
        {"participantId":"7F2C","type":"OWNER","acceptanceStatus":"ACCEPTED",
        "permission":"READ_WRITE","userIdentity":{"userRecordName":"_ida",
        "nameComponents":{"givenName":"Ida","familyName":"Holm"},
        "lookupInfo":{"emailAddress":"ida@example.org"}}}
        """#

    private static let share = #"""
        {"recordName":"s","recordType":"cloudkit.share","fields":{"cloudkit.title":
        {"value":"Huts","type":"STRING"}},"pluginFields":{},"recordChangeTag":"m3r0",
        "shortGUID":"0A1sYkq3ZrT2cWm4","publicPermission":"NONE","created":\#(stamp),
        "modified":\#(stamp),"zoneID":\#(zone),"owner":\#(owner),
        "currentUserParticipant":\#(owner),"participants":[\#(owner),{"participantId":"80AA",
        "type":"USER","acceptanceStatus":"PENDING","permission":"READ_ONLY",
        "isApprovedRequester":true,"dateAdded":1748736000000,
        "userIdentity":{"lookupInfo":{"phoneNumber":"+4712345"}}}],"allowsAccessRequests":true,
        "accessRequesters":[{"userRecordName":"_bo","lookupInfo":{"emailAddress":"b@example.org"}}],
        "blockedIdentities":[{"userRecordName":"_cy","nameComponents":{"givenName":"Cy"}}]}
        """#

    private static let lost =
        #"{"recordName":"lost","reason":"Record not found","serverErrorCode":"NOT_FOUND"}"#

    /// The answer to a save of the records `a` and `b`, and a deletion.
    static let modify = #"""
        {"records":[\#(record("a")),{"recordName":"b","reason":"oplock","serverErrorCode":"CONFLICT",
        "uuid":"u","serverRecord":\#(record("b")),"ancestorRecord":\#(record("b", "{}"))},
        {"recordName":"c","deleted":true,"zoneID":\#(zone),"recordType":"Hut"}]}
        """#
    static let modifyShare = #"{"records":[\#(record("a", "{}")),\#(share)]}"#
    static let lookup = #"{"records":[\#(record("a")),\#(lost)]}"#
    static let query = #"{"records":[\#(record("a")),\#(share)],"continuationMarker":"AgIC"}"#
    static let zoneChanges = #"""
        {"zones":[{"zoneID":\#(zone),"records":[\#(record("a")),\#(share),
        {"recordName":"c","deleted":true},\#(lost)],"syncToken":"AQAD","moreComing":false},
        {"zoneID":{"zoneName":"Gone"},"reason":"Zone not found","serverErrorCode":"ZONE_NOT_FOUND"}]}
        """#
    static let databaseChanges = #"""
        {"zones":[{"zoneID":\#(zone),"deleted":false},{"zoneID":{"zoneName":"Old"},"deleted":true,
        "deletionReason":"purged"}],"syncToken":"AQAC","moreComing":false}
        """#
    private static let madeZone =
        #"""
        {"zoneID":\#(zone),"syncToken":"AQAA","atomic":true,"share":{"recordName":"s"},
        "encryptionScope":"PER_ZONE"}
        """#
    static let zones = #"""
        {"zones":[\#(madeZone),{"zoneID":{"zoneName":"Gone"},"reason":"Zone not found",
        "serverErrorCode":"ZONE_NOT_FOUND"}]}
        """#
    static let zonesList = #"""
        {"zones":[{"zoneID":{"zoneName":"_defaultZone","zoneType":"DEFAULT_ZONE"},"atomic":false},
        \#(madeZone)]}
        """#
    private static let madeSubscriptions = #"""
        {"subscriptionID":"huts","subscriptionType":"query","zoneWide":true,
        "query":{"recordType":"Hut","filterBy":[{"fieldName":"beds","comparator":"GREATER_THAN",
        "fieldValue":{"value":10,"type":"INT64"}},{"systemFieldName":"modifiedTimestamp",
        "comparator":"LESS_THAN","fieldValue":{"value":1748736000000,"type":"TIMESTAMP"}}],
        "sortBy":[]},"firesOn":["create","update","delete"],"firesOnce":true,
        "notificationInfo":{"alertBody":"New hut","additionalFields":["name"],"shouldBadge":true}},
        {"subscriptionID":"zone","subscriptionType":"zone","zoneID":\#(zone)}
        """#
    static let subscriptions = #"""
        {"subscriptions":[\#(madeSubscriptions),
        {"subscriptionID":"nope","reason":"not found","serverErrorCode":"NOT_FOUND"}]}
        """#
    static let subscriptionsList = #"{"subscriptions":[\#(madeSubscriptions)]}"#
    static let caller = #"""
        {"userRecordName":"_ida","nameComponents":{"givenName":"Ida","familyName":"Holm"},
        "lookupInfo":{"emailAddress":"ida@example.org"}}
        """#
    static let discover = #"""
        {"users":[{"userRecordName":"_ida","nameComponents":{"givenName":"Ida"},
        "lookupInfo":{"emailAddress":"ida@example.org"}},{"lookupInfo":{"userRecordName":"_bo"}}]}
        """#
    static let permission = #"{"userDiscoverability":true}"#
    private static let metadata = #"""
        {"shortGUID":{"value":"0A1s","shouldFetchRootRecord":true},
        "containerIdentifier":"iCloud.org.example.Trails","environment":"development",
        "databaseScope":"SHARED","zoneID":\#(zone),"rootRecordName":"a",
        "rootRecord":\#(record("a")),"share":\#(share),"ownerIdentity":{"userRecordName":"_ida"},
        "participantType":"USER","participantStatus":"PENDING","participantPermission":"READ_ONLY",
        "potentialMatchList":[{"participantId":"80AB","contactInformation":
        {"emailAddress":"b•••@e•••.org"}}]}
        """#
    static let resolve = #"""
        {"results":[\#(metadata),
        {"shortGUID":{"value":"x"},"reason":"Share not found","serverErrorCode":"NOT_FOUND"}]}
        """#
    static let requestAccess = #"""
        {"results":[{"shortGUID":{"value":"0A1s"}},
        {"shortGUID":{"value":"x"},"reason":"Share not found","serverErrorCode":"NOT_FOUND"}]}
        """#
    static let accept = #"{"results":[\#(metadata)]}"#
    static let assetTokens = #"""
        {"tokens":[{"recordName":"a","fieldName":"photo","url":"http://127.0.0.1:1/assets/put/7c"}]}
        """#
    static let receipt = #"""
        {"singleFile":{"wrappingKey":"pX0v","fileChecksum":"AX4e","receipt":"A1Rk",
        "referenceChecksum":"AT9c","size":3}}
        """#
    static let pushToken = #"""
        {"apnsEnvironment":"development","apnsToken":"c2Ft",
        "webcourierURL":"http://127.0.0.1:1/courier/aps?tok=c2Ft&ttl=43200"}
        """#
    static let notification = #"""
        {"aps":{"alert":{"body":"New hut","loc-key":null,"loc-args":[]},"badge":1,
        "sound":"default","category":"HUT","content-available":1},"ck":{"ce":2,
        "cid":"iCloud.org.example.Trails","ckuserid":"_ida","nid":"b3","p":1,"qry":{"sid":"huts",
        "rid":"a","fo":1,"dbs":2,"zid":"Trips","zoid":"_ida","af":{"name":"Gipfelblick","beds":24}}}}
        """#
    static let failedBatch = #"""
        {"uuid":"5d","serverErrorCode":"ATOMIC_ERROR","reason":"Atomic failure","records":[
        {"recordName":"a","serverErrorCode":"ATOMIC_ERROR","reason":"Atomic failure"},
        {"recordName":"b","serverErrorCode":"CONFLICT","reason":"oplock","retryAfter":3,
        "serverRecord":\#(record("b"))},
        {"recordName":"c","serverErrorCode":"ATOMIC_ERROR","reason":"Atomic failure"}]}
        """#
}
