import StratusRecords
import StratusWire

/// The rules of sharing without databases, tokens and transactions: the oracle of
/// ``SharingOracleTests``.
struct SharingModel {
    struct Record: Equatable {
        var parent: String?
        var value: Int64
    }

    struct Participant: Equatable {
        var permission: SharePermission
        var status: ParticipantStatus
        var isPublic = false
        var isInvitedByEmail = false
    }

    struct Share: Equatable {
        /// nil for the whole zone.
        var root: String?
        var publicPermission: SharePermission
        /// By index of the user.
        var participants: [Int: Participant] = [:]
        var shortGUID: String

        func permission(of user: Int) -> SharePermission {
            guard let participant = participants[user], participant.status == .accepted else {
                return .none
            }
            return participant.isPublic ? publicPermission : participant.permission
        }
    }

    struct Zone: Equatable {
        var owner: Int
        var name: String
        var records: [String: Record] = [:]
        var shares: [String: Share] = [:]

        /// The nearest root, from the record itself upwards.
        func root(of name: String) -> String? {
            let roots = Set(shares.values.compactMap(\.root))
            var current: String? = name
            var steps = 0
            while let name = current, steps <= records.count {
                if roots.contains(name) { return name }
                current = records[name]?.parent
                steps += 1
            }
            return nil
        }

        var isWhole: Bool { shares.values.contains { $0.root == nil } }

        /// A user's permission for the records that are shared by a root.
        func permission(of user: Int, under root: String?) -> SharePermission {
            if user == owner { return .readWrite }
            let share = shares.values.first { isWhole || root != nil && $0.root == root }
            return share?.permission(of: user) ?? .none
        }

        func permission(of user: Int, for name: String) -> SharePermission {
            permission(of: user, under: shares[name].map { $0.root } ?? root(of: name))
        }

        func canRead(_ user: Int, _ name: String) -> Bool {
            permission(of: user, for: name) != .none
        }

        func canWrite(_ user: Int, _ name: String) -> Bool {
            permission(of: user, for: name) == .readWrite
        }

        /// Whether a user sees the zone at all.
        func isVisible(to user: Int) -> Bool {
            user == owner || shares.values.contains { $0.permission(of: user) != .none }
        }

        /// The records that a user sees, by their values, and the shares as −1.
        func view(of user: Int) -> [String: Int64] {
            var view: [String: Int64] = [:]
            for (name, record) in records where canRead(user, name) { view[name] = record.value }
            for name in shares.keys where canRead(user, name) { view[name] = -1 }
            return view
        }

        func hasChildren(_ name: String) -> Bool { records.values.contains { $0.parent == name } }

        /// Whether a record is below another one or is that record.
        func isBelow(_ name: String, _ other: String) -> Bool {
            var current: String? = name
            var steps = 0
            while let name = current, steps <= records.count {
                if name == other { return true }
                current = records[name]?.parent
                steps += 1
            }
            return false
        }

        /// Deletes a record, and the share of which it is the root.
        mutating func delete(_ name: String) {
            records[name] = nil
            shares = shares.filter { $0.value.root != name }
        }

        mutating func setPublicPermission(_ permission: SharePermission, of name: String) {
            shares[name]?.publicPermission = permission
            if permission == .none {
                let rest = shares[name]?.participants.filter { !$0.value.isPublic }
                shares[name]?.participants = rest ?? [:]
            }
        }

        /// Whether a user who follows a link may join.
        func canJoin(_ user: Int, _ name: String) -> Bool {
            guard let share = shares[name] else { return false }
            if user == owner { return true }
            guard let participant = share.participants[user] else {
                return share.publicPermission != .none
            }
            return participant.isPublic || participant.permission != .none
        }

        mutating func join(_ user: Int, _ name: String) {
            guard user != owner, let share = shares[name] else { return }
            var participant =
                share.participants[user]
                ?? Participant(
                    permission: share.publicPermission, status: .invited, isPublic: true)
            participant.status = .accepted
            shares[name]?.participants[user] = participant
        }

        mutating func leave(_ user: Int, _ name: String) {
            guard let participant = shares[name]?.participants[user] else { return }
            if participant.isPublic {
                shares[name]?.participants[user] = nil
            } else {
                shares[name]?.participants[user]?.status = .removed
            }
        }
    }

    var zones: [Zone]

    /// The zones in a user's shared database, by their indices.
    func sharedZones(of user: Int) -> Set<Int> {
        Set(zones.indices.filter { zones[$0].owner != user && zones[$0].isVisible(to: user) })
    }
}
