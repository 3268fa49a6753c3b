import Foundation
import StratusClient
import Synchronization

/// The notebooks that users share during a world, and who may see them. Tasks that wait for the service write here too.
final class Notebooks: Sendable {
    /// Whether a user sees a notebook of another user.
    enum Presence: Sendable {
        case outside
        /// An answer was lost or the process ended: they see all of it or nothing.
        case unknown
        case inside
    }

    struct Edit: Sendable {
        var page: String
        /// Each device has a field of its own for each user.
        var field: String
        var user: Int
        var number: Int64
    }

    struct Notebook: Sendable {
        /// The user who created it; nil before that.
        var owner: Int?
        var shareID: CKRecord.ID?
        var url: URL?
        var isBeingShared = false
        /// Whether its owner has ended the share.
        var isEnded = false
        /// Users whose request to join was not answered yet.
        var joining: Set<Int> = []
        /// Those of them who left meanwhile.
        var interrupted: Set<Int> = []
        /// Users who left the share once.
        var leavers: Set<Int> = []
        var deletedPages: Set<String> = []
        var movedPages: Set<String> = []
        /// In the order in which they were made.
        var edits: [Edit] = []
        fileprivate var presences: [Int: Presence] = [:]

        func presence(of user: Int) -> Presence {
            if isEnded { return .outside }
            if joining.contains(user) { return .unknown }
            return presences[user] ?? .outside
        }

        mutating func left(_ user: Int, isCertain: Bool) {
            leavers.insert(user)
            if joining.contains(user) { interrupted.insert(user) }
            presences[user] = isCertain ? .outside : .unknown
        }

        /// The service did not let the user leave, or the outcome is not known.
        mutating func isUnclear(for user: Int) { presences[user] = .unknown }

        mutating func endJoining(_ user: Int, isAccepted: Bool) {
            joining.remove(user)
            if interrupted.remove(user) != nil {
                presences[user] = .unknown
            } else if isAccepted {
                presences[user] = .inside
            } else if presences[user] != .inside {
                presences[user] = .unknown
            }
        }
    }

    static let type = "Page"
    /// The record whose share is that of the notebook, unless its whole zone is shared.
    static let root = "notebook"
    /// The records whose parent is the root.
    static let pages = ["page0", "page1"]
    /// All records; the last one is in the zone, and not a page of the notebook.
    static let names = [root] + pages + ["loose"]

    private struct State {
        var notebooks: [Int: Notebook] = [:]
        var isClosed = false
    }

    private let state = Mutex(State())

    /// Whether failed requests are no longer repeated.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    func close() { state.withLock { $0.isClosed = true } }

    subscript(number: Int) -> Notebook {
        state.withLock { $0.notebooks[number] ?? Notebook() }
    }

    func change(_ number: Int, _ body: (inout Notebook) -> Void) {
        state.withLock { body(&$0.notebooks[number, default: Notebook()]) }
    }
}
