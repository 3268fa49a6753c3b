import Algorithms
import StratusRecords
import StratusWire

/// Deletes what one user created in a default zone, a page at a time, by the ordinary rules of references: records that
/// refer to a deleted one with DELETE_SELF are deleted with it.
///
/// A record that others' records need cannot be deleted. It stays without its fields, so that those records stay valid.
/// The same applies to the user's own record, which cannot be deleted.
struct CreatedRecordsRemoval: Sendable {
    /// Records of a request, so that others are served in between; fewer if the limits are small.
    private static let recordsAtOnce = 50

    /// The result of a pass over all records that are left.
    private struct Pass {
        var done = 0
        var refused = 0
    }

    private let requests: OwnRequests
    private let context: RequestContext
    private let creator: String?

    /// - Parameter creator: The user whose records are deleted; nil for all of the zone.
    init(_ requests: OwnRequests, _ context: RequestContext, creator: String?) {
        self.requests = requests
        self.context = context
        self.creator = creator
    }

    func run() async throws {
        var isEmptied = false
        // A deletion that is refused in one pass can succeed in the next, when the records that needed it are gone.
        while true {
            let pass = try await pass { .init(.forceDelete, RecordDictionary(recordName: $0)) }
            if pass.refused == 0 { break }
            if pass.done > 0 { continue }
            if isEmptied { break }
            // Records that need one another can be deleted once they have no references.
            let emptying = try await self.pass {
                .init(.forceReplace, RecordDictionary(recordName: $0))
            }
            isEmptied = emptying.refused == 0
            guard isEmptied else { throw ServiceError.deletionUnderWay }
        }
        try await emptyUser()
    }

    private func pass(
        _ operation: (_ name: String) -> RecordsModify.Operation
    ) async throws -> Pass {
        var pass = Pass()
        var created = try await requests.created(by: creator, in: context)
        while let names = try await created.next() {
            let count = context.recordsAtOnce(
                Self.recordsAtOnce, readBytes: context.limits.recordBytesPerModify)
            for some in names.chunks(ofCount: count) {
                try Task.checkCancellation()
                for result in try await modify(some.map(operation)) {
                    guard case .failure(let failure) = result else {
                        pass.done += 1
                        continue
                    }
                    // Deleted already, together with another record.
                    if failure.error.code != .notFound { pass.refused += 1 }
                }
            }
        }
        return pass
    }

    private func emptyUser() async throws {
        let name = try context.user()
        guard try await requests.hasUsersRecord(in: context) else { return }
        let record = RecordDictionary(recordName: name, recordType: UsersRecord.type)
        for case .failure(let failure) in try await modify([.init(.forceReplace, record)]) {
            throw failure.error
        }
    }

    private func modify(_ operations: [RecordsModify.Operation]) async throws -> [RecordResult] {
        try await requests.answer(
            RecordsModify.self, .init(operations: operations, isAtomic: false), in: context
        ).records
    }
}
