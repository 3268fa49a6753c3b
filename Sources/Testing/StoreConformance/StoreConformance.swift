import StratusRecords
import StratusStorage

/// Conformance tests for storage engines, as cases that any test framework can run.
///
/// Each case gets a new, empty engine and throws ``Failure`` when a guarantee is broken.
///
/// ```swift
/// @Test(arguments: StoreConformance.cases)
/// func keeps(_ promise: StoreConformance.Case) async throws {
///     try await promise.run(MyStorageEngine())
/// }
/// ```
public enum StoreConformance {
    /// One guarantee.
    public struct Case: Sendable, CustomStringConvertible {
        /// The guarantee in a few words, such as "subscriptions belong to their users".
        public let name: String
        private let body: @Sendable (any StorageEngine) async throws -> Void

        init(_ name: String, _ body: @escaping @Sendable (any StorageEngine) async throws -> Void) {
            self.name = name
            self.body = body
        }

        public var description: String { name }

        /// Runs the case on an empty engine.
        ///
        /// - Throws: ``Failure`` when the guarantee is broken, and unexpected errors of the store.
        public func run(_ storage: any StorageEngine) async throws {
            try await body(storage)
        }
    }

    /// A broken guarantee.
    public struct Failure: Error, Sendable, CustomStringConvertible {
        /// What was found, and what the guarantee requires.
        public let message: String
        /// The source file of the check that failed, as `#fileID` names it.
        public let file: String
        /// The line of the check in its source file.
        public let line: Int

        public var description: String { "\(message) (\(file):\(line))" }
    }

    /// All cases, from simple to complex.
    public static let cases: [Case] =
        writes + zones + epochs + changes + references + subscriptions + assets + usage + indexes
        + concurrency
        + directory + accounts + schemas + sharing
}

extension StoreConformance {
    static func expect(
        _ holds: Bool, _ message: String, file: String = #fileID, line: Int = #line
    ) throws {
        if !holds { throw Failure(message: message, file: file, line: line) }
    }

    static func expect<Value: Equatable>(
        _ found: Value, equals wanted: Value, file: String = #fileID, line: Int = #line
    ) throws {
        if found != wanted {
            throw Failure(message: "\(found) instead of \(wanted)", file: file, line: line)
        }
    }

    static func unwrap<Value>(
        _ value: Value?, file: String = #fileID, line: Int = #line
    ) throws -> Value {
        guard let value else {
            throw Failure(message: "nil instead of a \(Value.self)", file: file, line: line)
        }
        return value
    }

    /// Expects a ``StorageError`` of this code.
    static func expect(
        _ code: StorageError.Code, file: String = #fileID, line: Int = #line,
        from body: () async throws -> Void
    ) async throws {
        do {
            try await body()
        } catch let error as StorageError where error.code == code {
            // The expected error.
            return
        }
        throw Failure(
            message: "the call did not throw \(code.rawValue)", file: file, line: line)
    }
}

// MARK: Helpers of the cases

extension StoreConformance {
    /// An error that a closure of a case throws on purpose.
    struct Refusal: Error, Equatable {
        var number = 0
    }

    static let container = ContainerAddress(
        container: "iCloud.org.example.Conformance", environment: .development)
    static let address = DatabaseAddress(container, .private(owner: "_alice"))

    /// The store of the cases with one zone that has a feed.
    static func storeWithZone(
        _ storage: any StorageEngine
    ) async throws -> (any RecordStore, ZoneRow.Key) {
        let store = try await storage.store(for: address)
        let zone = try await store.writeRecords {
            try $0.createZone(named: "Trails", hasFeed: true).key
        }
        return (store, zone)
    }

    /// A record as a device would save it.
    static func record(
        _ name: String, in zone: ZoneRow.Key, version: Int64, commit: Int64,
        deleted: Bool = false, device: String = "phone", type: String = "Trail",
        parent: String? = nil
    ) -> RecordRow {
        RecordRow(
            zone: zone, name: name, type: type, version: version, commitVersion: commit,
            changeTag: "tag\(version)", isDeleted: deleted, creatorDevice: device,
            createdMilliseconds: 1_700_000_000_000,
            modifiedMilliseconds: 1_700_000_000_000 + version,
            creator: "_alice", modifier: "_alice", modifierDevice: device, parent: parent,
            shareRoot: nil, payload: deleted ? [] : Array("payload of \(name)".utf8))
    }
}

extension RecordTransaction {
    /// Saves records, or their tombstones, as one request.
    @discardableResult
    func save(
        _ names: [String], in zone: ZoneRow.Key, deleted: Bool = false, device: String = "phone",
        type: String = "Trail", parent: String? = nil
    ) throws -> ClosedRange<Int64> {
        let versions = try takeVersions(names.count, in: zone)
        for (name, version) in zip(names, versions) {
            try put(
                StoreConformance.record(
                    name, in: zone, version: version, commit: versions.upperBound,
                    deleted: deleted, device: device, type: type, parent: parent))
        }
        return versions
    }
}

extension ChangeCursor {
    /// A cursor that includes all tombstones.
    static func after(_ version: Int64) -> ChangeCursor {
        ChangeCursor(version: version, skipTombstonesThrough: 0, device: "")
    }
}
