import StratusClient
import StratusRecords
import StratusWire

/// Conformance tests for services that implement the protocol, as cases that any test framework can
/// run over any transport, to a service in this process or over a network.
///
/// Each case uses its own users.
///
/// ```swift
/// @Test(arguments: ServiceConformance.cases)
/// func keeps(_ rule: ServiceConformance.Case) async throws {
///     try await rule.run(on: ServiceConformance.Stage { user, device in myTransport(user, device) })
/// }
/// ```
public enum ServiceConformance {
    /// The service in development mode that a case talks to.
    public struct Stage: Sendable {
        /// Signs a user in on a device; nil sends requests with an API token only.
        let connect: @Sendable (_ user: String?, _ device: String) async throws -> any Transport
        let container: ContainerAddress

        /// - Parameters:
        ///   - container: Names the container of all cases.
        ///   - prefix: The prefix of the users' names, so that cases can run repeatedly against one
        ///     service.
        ///   - connect: Makes the transport of a signed-in device.
        public init(
            container: String = "iCloud.org.example.Conformance", prefix: String = "",
            connect:
                @escaping @Sendable (_ user: String?, _ device: String) async throws ->
                any Transport
        ) {
            self.container = ContainerAddress(container: container, environment: .development)
            self.connect = { try await connect($0.map { prefix + $0 }, $1) }
        }

        func person(_ name: String?, device: String = "phone") async throws -> StagePerson {
            StagePerson(transport: try await connect(name, device), container: container)
        }

        /// A person who has made a zone.
        func person(_ name: String, zone: String) async throws -> StagePerson {
            let person = try await person(name)
            try await person.makeZone(zone)
            return person
        }

        func aliceAndBob() async throws -> (alice: StagePerson, bob: StagePerson) {
            (try await person("alice"), try await person("bob"))
        }
    }

    /// One rule.
    public struct Case: Sendable, CustomStringConvertible {
        /// The rule in a few words, such as "an invitation is accepted, used and left".
        public let name: String
        private let body: @Sendable (Stage) async throws -> Void

        init(_ name: String, _ body: @escaping @Sendable (Stage) async throws -> Void) {
            self.name = name
            self.body = body
        }

        public var description: String { name }

        /// Runs the case.
        ///
        /// - Throws: ``StoreConformance/Failure`` when the rule is broken, and unexpected errors of
        ///   the transport.
        public func run(on stage: Stage) async throws {
            try await body(stage)
        }
    }

    /// All cases, in the order from small to large.
    public static let cases: [Case] =
        records + batches + references + zones + changes + queries + access + sharing
}

/// A user at a device.
struct StagePerson: Sendable {
    let transport: any Transport
    let container: ContainerAddress

    func ask<E: Endpoint>(
        _ endpoint: E.Type, _ request: E.Request, in scope: DatabaseScope = .private
    ) async throws -> E.Answer {
        try await transport.send(
            endpoint, request,
            to: RequestTarget(container: container, scope: E.isInDatabase ? scope : nil),
            timeoutSeconds: 30)
    }

    // MARK: Zones

    func makeZone(_ name: String) async throws {
        _ = try await ask(
            ZonesModify.self, .init(operations: [.init(.create, ZoneIDDictionary(zoneName: name))]))
    }

    func deleteZone(_ name: String) async throws {
        _ = try await ask(
            ZonesModify.self, .init(operations: [.init(.delete, ZoneIDDictionary(zoneName: name))]))
    }

    // MARK: Records

    @discardableResult
    func modify(
        _ operations: [RecordsModify.Operation], in zone: String? = "Trips", isAtomic: Bool = true,
        scope: DatabaseScope = .private
    ) async throws -> [RecordResult] {
        try await ask(
            RecordsModify.self,
            .init(
                operations: operations, zoneID: zone.map { ZoneIDDictionary(zoneName: $0) },
                isAtomic: isAtomic), in: scope
        ).records
    }

    /// Saves one record and returns it as it is stored.
    @discardableResult
    func save(
        _ name: String, _ fields: [Field] = [], kind: RecordsModify.Kind = .forceUpdate,
        tag: String? = nil, parent: String? = nil, in zone: String? = "Trips",
        scope: DatabaseScope = .private
    ) async throws -> RecordDictionary {
        let operation = RecordsModify.Operation.saving(
            name, fields, kind: kind, tag: tag, parent: parent)
        return try await modify([operation], in: zone, scope: scope)[0].asRecord()
    }

    func lookup(
        _ names: [String], in zone: String? = "Trips", scope: DatabaseScope = .private
    ) async throws -> [RecordResult] {
        try await ask(
            RecordsLookup.self,
            .init(
                records: names.map { .init(recordName: $0) },
                zoneID: zone.map { ZoneIDDictionary(zoneName: $0) }), in: scope
        ).records
    }

    // MARK: Changes

    func changes(
        _ zone: String = "Trips", since token: String? = nil, limit: Int? = nil
    ) async throws -> ChangesZone.Page {
        let request = ChangesZone.Request(zones: [
            .init(
                zoneID: ZoneIDDictionary(zoneName: zone), syncToken: token, resultsLimit: limit)
        ])
        switch try await ask(ChangesZone.self, request).items[0] {
        case .success(let page): return page
        case .failure(let failure): throw ServiceFailure(failure.error)
        }
    }
}

extension RecordsModify.Operation {
    /// A save of a record of the type Hut.
    static func saving(
        _ name: String?, _ fields: [Field] = [], kind: RecordsModify.Kind = .create,
        tag: String? = nil, parent: String? = nil
    ) -> RecordsModify.Operation {
        RecordsModify.Operation(
            kind,
            RecordDictionary(
                recordName: name, recordType: "Hut", recordChangeTag: tag, fields: .values(fields),
                parentRecordName: parent.map { .some($0) } ?? .absent))
    }

    static func deleting(_ name: String, tag: String? = nil) -> RecordsModify.Operation {
        RecordsModify.Operation(
            tag == nil ? .forceDelete : .delete,
            RecordDictionary(recordName: name, recordChangeTag: tag))
    }
}

extension RecordResult {
    func asRecord(file: String = #fileID, line: Int = #line) throws -> RecordDictionary {
        guard case .record(let record) = self else {
            throw StoreConformance.Failure(message: "\(self)", file: file, line: line)
        }
        return record
    }

    func asFailure(file: String = #fileID, line: Int = #line) throws -> RecordFailure {
        guard case .failure(let failure) = self else {
            throw StoreConformance.Failure(message: "\(self)", file: file, line: line)
        }
        return failure
    }

    func asTombstone(file: String = #fileID, line: Int = #line) throws -> Tombstone {
        guard case .deleted(let tombstone) = self else {
            throw StoreConformance.Failure(message: "\(self)", file: file, line: line)
        }
        return tombstone
    }

    var code: ServiceError.Code? {
        if case .failure(let failure) = self { failure.error.code } else { nil }
    }

    var name: String? {
        switch self {
        case .record(let record): record.recordName
        case .deleted(let tombstone): tombstone.recordName
        case .failure(let failure): failure.recordName
        }
    }
}

extension RecordDictionary {
    subscript(field name: String) -> FieldValue? {
        get throws { try fields.values().first { $0.name == name }?.value }
    }
}

extension ServiceConformance {
    static func expect<Value: Equatable>(
        _ found: Value, equals wanted: Value, file: String = #fileID, line: Int = #line
    ) throws {
        try StoreConformance.expect(found, equals: wanted, file: file, line: line)
    }

    /// Expects the service to refuse a request as a whole.
    @discardableResult
    static func expectRefusal(
        _ code: ServiceError.Code, file: String = #fileID, line: Int = #line,
        _ body: () async throws -> Void
    ) async throws -> ServiceFailure {
        do {
            try await body()
        } catch let failure as ServiceFailure {
            try StoreConformance.expect(failure.error.code, equals: code, file: file, line: line)
            return failure
        }
        throw StoreConformance.Failure(
            message: "the request was not refused with \(code.rawValue)", file: file, line: line)
    }

    static func text(_ name: String, _ value: String?) -> Field {
        Field(name: name, value: value.map { .string($0) })
    }
}
