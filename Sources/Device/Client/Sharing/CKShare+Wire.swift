import StratusWire

extension CKShare {
    /// Whether a participant has accepted the invitation.
    public enum ParticipantAcceptanceStatus: Int, Sendable {
        /// The service did not say whether the participant has accepted.
        case unknown = 0
        /// Invited.
        case pending = 1
        /// Joined the share.
        case accepted = 2
        /// Left, or was removed.
        case removed = 3
    }

    /// What a participant may do with the shared records.
    public enum ParticipantPermission: Int, Sendable {
        /// The service did not say what the participant may do.
        case unknown = 0
        /// No access to the shared records.
        case none = 1
        /// May read the shared records.
        case readOnly = 2
        /// May read, add, change and delete shared records; only the owner can delete the root.
        case readWrite = 3
    }

    /// The role of a participant in a share.
    public enum ParticipantRole: Int, Sendable {
        /// The service did not say which role the participant has.
        case unknown = 0
        /// Owns the zone and the share.
        case owner = 1
        /// Invited by name, and may invite and remove others; the owner gives the role.
        case administrator = 2
        /// Invited by name.
        case privateUser = 3
        /// Joined by the link of a public share.
        case publicUser = 4
    }

    /// The older form of ``ParticipantRole``, without administrators.
    @available(*, deprecated, message: "Use CKShare.ParticipantRole.")
    public enum ParticipantType: Int, Sendable {
        /// The service did not say which role the participant has.
        case unknown = 0
        /// Owns the zone and the share.
        case owner = 1
        /// Invited by name; an administrator reads as one too.
        case privateUser = 3
        /// Joined by the link of a public share.
        case publicUser = 4
    }
}

// Conversions from and to the protocol's words.

extension CKShare.ParticipantAcceptanceStatus {
    init(_ word: ParticipantStatus) {
        switch word {
        case .invited: self = .pending
        case .accepted: self = .accepted
        case .removed: self = .removed
        case .unknown: self = .unknown
        }
    }
}

extension CKShare.ParticipantPermission {
    private static let words: [(permission: Self, word: SharePermission)] = [
        (.none, .none), (.readOnly, .readOnly), (.readWrite, .readWrite),
    ]

    init(_ word: SharePermission) {
        self = Self.words.first { $0.word == word }?.permission ?? .unknown
    }

    var word: SharePermission {
        Self.words.first { $0.permission == self }?.word ?? .unknown
    }
}

extension CKShare.ParticipantRole {
    private static let words: [(role: Self, word: ParticipantRole)] = [
        (.owner, .owner), (.administrator, .administrator), (.privateUser, .user),
        (.publicUser, .publicUser),
    ]

    init(_ word: ParticipantRole) {
        self = Self.words.first { $0.word == word }?.role ?? .unknown
    }

    var word: ParticipantRole {
        Self.words.first { $0.role == self }?.word ?? .unknown
    }
}

@available(*, deprecated, message: "Use CKShare.ParticipantRole.")
extension CKShare.ParticipantType {
    init(_ role: CKShare.ParticipantRole) {
        switch role {
        case .unknown: self = .unknown
        case .owner: self = .owner
        // Older systems show administrators as private users.
        case .administrator, .privateUser: self = .privateUser
        case .publicUser: self = .publicUser
        }
    }

    var role: CKShare.ParticipantRole {
        switch self {
        case .unknown: .unknown
        case .owner: .owner
        case .privateUser: .privateUser
        case .publicUser: .publicUser
        }
    }
}
