/// Which answer each caller gets from each route.
enum AccessTable {
    /// The answers to ``AccessStage/ownersData()``.
    static let ownersData = [
        "200 trail hut diary share NOT_FOUND", "200 hut", "200 all", "200 aps ck",
        "200 5 bytes",
    ]

    static let rows = records + assets + changes + zones + subscriptions + people + devices + pages

    private static func database(_ action: String, _ method: String = "POST") -> String {
        "\(method) /database/1/{container}/{environment}/{database}/\(action)"
    }

    private static func container(_ place: String, _ action: String) -> String {
        "POST /\(place)/1/{container}/{environment}/\(action)"
    }

    private static let records = [
        AccessRow(
            database("records/modify"), .zone,
            #"""
            {"zoneID":${zone},"operations":[{"operationType":"forceUpdate","record":{
            "recordName":"hut","recordType":"Hut","fields":{"beds":{"value":5}}}}]}
            """#,
            answers: .users("200 ZONE_NOT_FOUND", reader: "400 ATOMIC_ERROR", owner: "200 hut")),
        AccessRow(
            database("records/modify"), .zone,
            #"""
            {"zoneID":${zone},"operations":[{"operationType":"forceDelete","record":{
            "recordName":"diary"}}]}
            """#, answers: .users("200 ZONE_NOT_FOUND", reader: "200 -diary", owner: "200 -diary")),
        AccessRow(
            database("records/modify"), .zone,
            #"""
            {"zoneID":${zone},"operations":[{"operationType":"create","record":{
            "recordName":"new","recordType":"Hut"}}]}
            """#,
            answers: .users("200 ZONE_NOT_FOUND", reader: "400 ATOMIC_ERROR", owner: "200 new")),
        AccessRow(
            database("records/modify"), .public,
            #"""
            {"operations":[{"operationType":"forceUpdate","record":{
            "recordName":"news","recordType":"News","fields":{"text":{"value":"x"}}}}]}
            """#,
            answers: .users("200 ACCESS_DENIED", reader: "200 ACCESS_DENIED", owner: "200 news")),
        AccessRow(
            database("operations/cancel"), .zone, #"{"operationIDs":["late"]}"#,
            answers: .users("200", reader: "200", owner: "200")),
        AccessRow(
            database("records/lookup"), .zone,
            #"{"zoneID":${zone},"records":[{"recordName":"hut"},{"recordName":"diary"}]}"#,
            answers: .users(
                "200 ZONE_NOT_FOUND ZONE_NOT_FOUND", reader: "200 hut NOT_FOUND",
                owner: "200 hut diary")),
        AccessRow(
            database("records/lookup"), .public, #"{"records":[{"recordName":"news"}]}"#,
            answers: .readers("200 news")),
        AccessRow(
            database("records/query"), .zone,
            #"{"zoneID":${zone},"query":{"recordType":"Hut"}}"#,
            answers: .users("404 ZONE_NOT_FOUND", reader: "200 hut", owner: "200 diary hut")),
        AccessRow(
            database("records/query"), .public, #"{"query":{"recordType":"News"}}"#,
            answers: .readers("200 news")),
        AccessRow(
            database("records/resolve"), .public,
            #"{"shortGUIDs":[{"value":"${shortGUID}","shouldFetchRootRecord":true}]}"#,
            answers: .users("200 NOT_FOUND", reader: "200 Trips", owner: "200 Trips")),
        AccessRow(
            database("records/accept"), .public, #"{"shortGUIDs":[{"value":"${shortGUID}"}]}"#,
            answers: .users("200 NOT_FOUND", reader: "200 Trips", owner: "200 Trips")),
        AccessRow(
            database("records/requestaccess"), .public,
            #"{"shortGUIDs":[{"value":"${shortGUID}"},{"value":"nothing"}]}"#,
            answers: .users(
                "200 shortGUID NOT_FOUND", reader: "200 BAD_REQUEST NOT_FOUND",
                owner: "200 BAD_REQUEST NOT_FOUND")),
        AccessRow(
            database("records/modify"), .zone,
            #"""
            {"zoneID":${zone},"operations":[{"operationType":"forceUpdate","record":{
            "recordName":"share","accessRequesters":[],"blockedIdentities":[
            {"userRecordName":"${strangerName}"}]}}]}
            """#,
            answers: .users("200 ZONE_NOT_FOUND", reader: "400 ATOMIC_ERROR", owner: "200 share")),
    ]

    private static let assets = [
        AccessRow(
            database("assets/upload"), .zone,
            #"""
            {"zoneID":${zone},"tokens":[{"recordType":"Hut","recordName":"x","fieldName":"photo"}]}
            """#, answers: .users("404 ZONE_NOT_FOUND", reader: "403 ACCESS_DENIED", owner: "200 x")
        ),
        AccessRow(
            database("assets/rereference"), .zone,
            #"""
            {"zoneID":${zone},"assets":[{"recordType":"Hut","recordName":"diary",
            "fieldName":"photo"}]}
            """#,
            answers: .users(
                "404 ZONE_NOT_FOUND", reader: "200 NOT_FOUND",
                owner: "200 fileChecksum receipt referenceChecksum size wrappingKey")),
        AccessRow(
            "POST /assets/put/{token}", .none, "bytes",
            answers: .ownerAlone("200 singleFile", others: "404 NOT_FOUND")),
        AccessRow(
            "GET /assets/get/{token}", answers: .ownerAlone("200 5 bytes", others: "404 NOT_FOUND")),
        AccessRow("HEAD /assets/put/{token}", answers: .ownerAlone("204", others: "404")),
        AccessRow(
            "DELETE /assets/put/{token}", answers: .ownerAlone("204", others: "404 NOT_FOUND")),
        AccessRow(
            "PATCH /assets/put/{token}", .none, "bytes",
            answers: .ownerAlone("400 BAD_REQUEST", others: "404 NOT_FOUND")),
        AccessRow("HEAD /assets/get/{token}", answers: .ownerAlone("200", others: "404")),
        AccessRow(
            "GET /assets/get/{token}/{name}",
            answers: .ownerAlone("200 5 bytes", others: "404 NOT_FOUND")),
        AccessRow("HEAD /assets/get/{token}/{name}", answers: .ownerAlone("200", others: "404")),
    ]

    private static let changes = [
        AccessRow(
            database("changes/database"), .zone, "{}",
            answers: .users("200", reader: "200 Trips", owner: "200 Trips")),
        AccessRow(
            database("changes/zone"), .zone, #"{"zones":[{"zoneID":${zone}}]}"#,
            answers: .users(
                "200 ZONE_NOT_FOUND", reader: "200 trail hut share",
                owner: "200 trail hut share diary")),
        AccessRow(
            database("records/changes"), .zone, #"{"zoneID":${zone}}"#,
            answers: .users(
                "404 ZONE_NOT_FOUND", reader: "200 trail hut share",
                owner: "200 trail hut share diary")),
        AccessRow(
            database("zones/changes"), .zone, "{}",
            answers: .users("200", reader: "200 Trips", owner: "200 Trips")),
    ]

    /// A list, which is answered in the same way with and without a body.
    private static func list(
        _ action: String, _ place: AccessRow.Place, answers: AccessAnswers
    ) -> [AccessRow] {
        [
            AccessRow(database(action), place, "{}", answers: answers),
            AccessRow(database(action, "GET"), place, answers: answers),
        ]
    }

    private static let zones =
        list(
            "zones/list", .zone,
            answers: .users("200", reader: "200 Trips", owner: "200 Trips _defaultZone")) + [
            AccessRow(
                database("zones/list", "GET"), .public, answers: .readers("200 _defaultZone")),
            AccessRow(
                database("zones/lookup"), .zone, #"{"zones":[{"zoneID":${zone}}]}"#,
                answers: .users("200 ZONE_NOT_FOUND", reader: "200 Trips", owner: "200 Trips")),
            AccessRow(
                database("zones/modify"), .zone,
                #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"New"}}}]}"#,
                answers: .users("400 BAD_REQUEST", reader: "400 BAD_REQUEST", owner: "200 New")),
            AccessRow(
                database("zones/modify"), .zone,
                #"{"operations":[{"operationType":"delete","zone":{"zoneID":${zone}}}]}"#,
                answers: .users("200 -Trips")),
        ]

    private static let subscriptions =
        list(
            "subscriptions/list", .zone, answers: .users("200", reader: "200", owner: "200 all"))
        + [
            AccessRow(
                database("subscriptions/lookup"), .zone,
                #"{"subscriptions":[{"subscriptionID":"all"}]}"#,
                answers: .users("200 NOT_FOUND", reader: "200 NOT_FOUND", owner: "200 all")),
            AccessRow(
                database("subscriptions/modify"), .zone,
                #"{"operations":[{"operationType":"delete","subscription":{"subscriptionID":"all"}}]}"#,
                answers: .users("200 NOT_FOUND", reader: "200 NOT_FOUND", owner: "200 -all")),
        ]

    private static let people = [
        AccessRow(database("users/caller"), .public, "{}", answers: .users("200 user")),
        AccessRow(database("users/caller", "GET"), .public, answers: .users("200 user")),
        AccessRow(database("users/current"), .public, "{}", answers: .users("200 user")),
        AccessRow(database("users/current", "GET"), .public, answers: .users("200 user")),
        AccessRow(
            database("users/discover"), .public,
            #"{"lookupInfos":[{"emailAddress":"owner@example.org"}]}"#,
            answers: .users("200 lookupInfo", reader: "200 lookupInfo", owner: "200 user")),
        AccessRow(database("users/discover", "GET"), .public, answers: .users("200")),
        AccessRow(
            database("users/lookup/email"), .public,
            #"{"users":[{"emailAddress":"owner@example.org"}]}"#,
            answers: .users("200", reader: "200", owner: "200 user")),
        AccessRow(
            database("users/lookup/id"), .public,
            #"{"users":[{"userRecordName":"${ownerName}"}]}"#,
            answers: .users("200", reader: "200", owner: "200 user")),
        AccessRow(
            database("users/lookup/contacts"), .public, #"{"contacts":[]}"#, answers: .users("200")),
        AccessRow(database("users/lookup/contacts", "GET"), .public, answers: .users("200")),
        AccessRow(
            database("users/permission"), .public, "{}", answers: .users("200 userDiscoverability")),
        AccessRow(
            database("users/permission", "GET"), .public, answers: .users("200 userDiscoverability")
        ),
        AccessRow(database("users/sessions"), .public, "{}", answers: .users("200 sessions")),
        AccessRow(
            database("users/sessions", "GET"), .public, answers: .users("200 sessions")),
        AccessRow(database("users/signout"), .public, "{}", answers: .users("200")),
    ]

    private static let devices =
        ["database", "device"].flatMap { place in
            [
                AccessRow(
                    container(place, "tokens/create"), .none, #"{"apnsEnvironment":"development"}"#,
                    answers: .users("200 apnsEnvironment apnsToken webcourierURL")),
                AccessRow(
                    container(place, "tokens/register"), .none,
                    #"{"apnsEnvironment":"development","apnsToken":"${pushToken}"}"#,
                    answers: .users("404 NOT_FOUND", reader: "404 NOT_FOUND", owner: "200")),
                AccessRow(
                    container(place, "tokens/unregister"), .none, #"{"apnsToken":"${pushToken}"}"#,
                    answers: .users("200")),
            ]
        } + [
            AccessRow(
                database("tokens/create"), .public, #"{"apnsEnvironment":"development"}"#,
                answers: .users("200 apnsEnvironment apnsToken webcourierURL")),
            AccessRow(
                database("tokens/register"), .public,
                #"{"apnsEnvironment":"development","apnsToken":"${pushToken}"}"#,
                answers: .users("404 NOT_FOUND", reader: "404 NOT_FOUND", owner: "200")),
            AccessRow(
                database("tokens/unregister"), .public, #"{"apnsToken":"${pushToken}"}"#,
                answers: .users("200")),
        ]

    private static let pages = [
        AccessRow("GET /health", answers: .everybody("200 status")),
        AccessRow("GET /share/{shortGUID}", answers: .everybody("200 page")),
        AccessRow("GET /courier/aps", answers: .ownerAlone("200", others: "404 NOT_FOUND")),
        AccessRow("GET /auth/sign-in", answers: .everybody("400 page")),
        AccessRow("POST /auth/sign-in", answers: .everybody("400 page")),
        AccessRow("GET /auth/sign-up", answers: .everybody("400 page")),
        AccessRow("POST /auth/sign-up", answers: .everybody("400 page")),
        AccessRow("GET /auth/account", answers: .everybody("200 page")),
        AccessRow("POST /auth/account", answers: .everybody("400 page")),
        AccessRow("GET /auth/recover", answers: .everybody("200 page")),
        AccessRow("POST /auth/recover", answers: .everybody("400 page")),
        AccessRow("GET /auth/signed-in", answers: .everybody("400 page")),
        AccessRow("GET /auth/sign-out", answers: .everybody("200 page")),
        AccessRow("POST /auth/sign-out", answers: .everybody("400 page")),
        AccessRow("POST /auth/password", .none, "{}", answers: .apps("400 BAD_REQUEST")),
        AccessRow("POST /auth/oidc", .none, "{}", answers: .apps("400 BAD_REQUEST")),
        AccessRow("POST /dev/sign-in", .none, "{}", answers: .everybody("400 BAD_REQUEST")),
        AccessRow("POST /dev/faults", .none, "{}", answers: .everybody("400 BAD_REQUEST")),
        AccessRow("GET /dev/faults", answers: .everybody("200")),
        AccessRow("DELETE /dev/faults", answers: .everybody("200")),
    ]
}
