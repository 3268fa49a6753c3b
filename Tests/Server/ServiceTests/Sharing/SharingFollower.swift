import StratusRecords
import StratusService
import StratusWire
import Testing

/// A device that knows a user's databases only by their feeds, like the framework's clients.
struct SharingFollower {
    let person: Person
    let user: Int
    var privateToken: String?
    var sharedToken: String?
    var zoneTokens: [ZoneIDDictionary: String] = [:]
    /// The known records of each zone; a zone without an entry does not exist.
    var zones: [ZoneIDDictionary: [String: Int64]] = [:]
    /// Zones whose feed waits for the steps of a change.
    var busy: Set<ZoneIDDictionary> = []

    /// Fetches which zones changed since the last time, and then only their changes.
    mutating func catchUp(pageLength: Int) async throws {
        privateToken = try await catchUp(privateToken, .private, pageLength)
        sharedToken = try await catchUp(sharedToken, .shared, pageLength)
        for zoneID in busy { try await fetch(zoneID, .shared, pageLength) }
    }

    private mutating func catchUp(
        _ start: String?, _ scope: DatabaseScope, _ pageLength: Int
    ) async throws -> String {
        var token = start
        while true {
            let answer = try await person.ask(
                ChangesDatabase.self, .init(syncToken: token, resultsLimit: pageLength), in: scope)
            for zone in answer.zones.compactMap(\.zone) {
                if zone.isDeleted == true {
                    zones[zone.zoneID] = nil
                    zoneTokens[zone.zoneID] = nil
                } else {
                    try await fetch(zone.zoneID, scope, pageLength)
                }
            }
            token = answer.syncToken
            if !answer.moreComing { return answer.syncToken }
        }
    }

    private mutating func fetch(
        _ zoneID: ZoneIDDictionary, _ scope: DatabaseScope, _ pageLength: Int
    ) async throws {
        busy.remove(zoneID)
        while true {
            let result = try await person.changes(
                in: zoneID, since: zoneTokens[zoneID], limit: pageLength, scope: scope)
            if result.error?.code == .zoneBusy {
                busy.insert(zoneID)
                return
            }
            guard let page = result.page else {
                // All known records of the zone are void; without the token it is fetched from the beginning.
                zones[zoneID] = nil
                let hadToken = zoneTokens.removeValue(forKey: zoneID) != nil
                guard hadToken, result.error?.code == .changeTokenExpired else { return }
                continue
            }
            var records = zones[zoneID] ?? [:]
            for result in page.records { records.apply(result) }
            zones[zoneID] = records
            zoneTokens[zoneID] = page.syncToken
            if !page.moreComing { return }
        }
    }
}

extension [String: Int64] {
    /// Applies a record as its number, a share as −1.
    mutating func apply(_ result: RecordResult) {
        guard let name = result.name else { return }
        guard let record = result.record else {
            self[name] = nil
            return
        }
        if record.recordType == ShareDictionary.recordType {
            self[name] = -1
        } else if case .int64(let number) = result.values["beds"] {
            self[name] = number
        }
    }
}

extension SharingPlay {
    func expect(
        _ holds: Bool, _ what: @autoclosure () -> String,
        at location: SourceLocation = #_sourceLocation
    ) {
        guard !holds else { return }
        let text = "\(what()) — seed \(seed), step \(stepNumber): \(story)"
        Issue.record("\(text)", sourceLocation: location)
    }

    // MARK: Visible records

    func checkEverything() async throws {
        for zone in model.zones.indices { try await check(zone) }
        var play = self
        for index in followers.indices { try await play.catchUp(index) }
    }

    /// Checks every way of reading a zone, for every user.
    func check(_ index: Int, isThere: Bool = true) async throws {
        let zone = model.zones[index]
        for (user, person) in people.enumerated() {
            let scope = scope(user, index)
            let view = isThere ? zone.view(of: user) : [:]
            let isVisible = isThere && zone.isVisible(to: user)
            let names = Self.recordNames + zone.shares.keys.sorted() + links.map(\.share).suffix(4)
            let looked = try await person.lookup(names, in: zoneID(index), scope: scope)
            var found: [String: Int64] = [:]
            for result in looked { found.apply(result) }
            expect(
                isRight(found, view, of: user, in: index),
                "lookup by \(user): \(found) instead of \(view)")
            let codes = Set(looked.compactMap(\.code))
            expect(
                codes.isSubset(of: [isVisible ? .notFound : .zoneNotFound]),
                "lookup by \(user): \(codes)")
            let feed = try await fullFeed(person, index, scope)
            expect((feed != nil) == isVisible, "feed of \(user)")
            expect(
                isRight(feed ?? [:], isVisible ? view : [:], of: user, in: index),
                "feed of \(user): \(feed ?? [:]), not \(view)")
            try await checkQuery(person, user, index, view, isVisible)
            let zones = try await person.sharedZones().compactMap(\.zone?.zoneID)
            let isListed = zones.contains {
                $0.zoneName == zone.name && $0.ownerRecordName == people[zone.owner].name
            }
            expect(isListed == (isVisible && user != zone.owner), "zones of \(user): \(zones)")
        }
    }

    private func fullFeed(
        _ person: Person, _ index: Int, _ scope: DatabaseScope
    ) async throws -> [String: Int64]? {
        var records: [String: Int64] = [:]
        var token: String?
        while true {
            let result = try await person.changes(
                in: zoneID(index), since: token, limit: 5, scope: scope)
            // While many records leave a share, its feed waits.
            if result.error?.code == .zoneBusy, departing.contains(index) { return records }
            guard let page = result.page else {
                expect(result.error?.code == .zoneNotFound, "feed: \(result)")
                return nil
            }
            for result in page.records {
                // The owner's device gets its own deletions.
                expect(scope == .private || result.record != nil, "a deletion from the beginning")
                records.apply(result)
            }
            token = page.syncToken
            if !page.moreComing { return records }
        }
    }

    private func checkQuery(
        _ person: Person, _ user: Int, _ index: Int, _ view: [String: Int64], _ isVisible: Bool
    ) async throws {
        do {
            let results = try await person.query(
                "Hut", in: zoneID(index), scope: scope(user, index))
            var found: [String: Int64] = [:]
            for result in results { found.apply(result) }
            let huts = view.filter { $0.value >= 0 }
            expect(
                isRight(found, huts, of: user, in: index),
                "query by \(user): \(found) instead of \(huts)")
            expect(isVisible, "query by \(user) in a hidden zone")
        } catch let failure as RequestFailure {
            // Before the first save the type does not exist.
            let isHidden = failure.error.code == .zoneNotFound && !isVisible
            expect(isHidden || failure.error.code == .notFound, "query by \(user): \(failure)")
        }
    }

    /// Fetches a device's changes, after which it knows what its user may know.
    mutating func catchUp(_ index: Int) async throws {
        let length = Int.random(in: 1...4, using: &numbers)
        try await followers[index].catchUp(pageLength: length)
        let follower = followers[index]
        var expected: [String: [String: Int64]] = [:]
        for zone in model.zones where zone.isVisible(to: follower.user) {
            expected["\(zone.name) of \(zone.owner)"] = zone.view(of: follower.user)
        }
        var known: [String: [String: Int64]] = [:]
        for (zoneID, records) in follower.zones {
            let owner = people.firstIndex { $0.name == zoneID.ownerRecordName } ?? -1
            known["\(zoneID.zoneName) of \(owner)"] = records
        }
        guard unfinished.isEmpty else {
            // A device gets the deletion of a record that leaves a share only after its step.
            let waiting = Set(
                departing.map { "\(model.zones[$0].name) of \(model.zones[$0].owner)" })
            let isWithin = known.allSatisfy { zone, records in
                waiting.contains(zone)
                    || records.allSatisfy { expected[zone]?[$0.key] == $0.value }
            }
            return expect(isWithin, "device of \(index) knows \(known), more than \(expected)")
        }
        expect(known == expected, "device of \(index) knows \(known) instead of \(expected)")
    }
}
