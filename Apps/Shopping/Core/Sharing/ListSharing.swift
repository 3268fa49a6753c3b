import StratusCache

#if canImport(Darwin)
    import Foundation
    import StratusClient
#else
    import CloudKit
#endif

/// A person who shares a list, or was invited to it.
public struct ListPerson: Hashable, Sendable, Identifiable {
    public enum Standing: Hashable, Sendable {
        case invited, joined, gone
    }

    /// The participant's identifier in the share.
    public let id: String
    /// The user's record name, by which their entries are known; nil while the service does not report it.
    public let userName: String?
    /// What others call the person: their name, or the address that they were invited by.
    public let name: String
    public let isOwner: Bool
    public let isMe: Bool
    public let mayWrite: Bool
    public let standing: Standing
}

/// How a list is shared, as far as this device knows; it needs no network.
public struct ListSharing: Hashable, Sendable {
    /// What everyone who has the link may do.
    public enum LinkAccess: Hashable, Sendable {
        /// Nothing: the link is for those who are invited.
        case invitedOnly
        case read
        case write
    }

    /// The link to send to people who should join.
    public let link: URL?
    public let linkAccess: LinkAccess
    /// The owner first, then the others by name.
    public let people: [ListPerson]
    /// Whether people who are not invited may ask to join.
    public let takesRequests: Bool
    /// The people who ask to join, by name; the owner sees them.
    public let requests: [String]
    /// The user record names of these people, in the same order.
    public let requesterIDs: [String]

    public var me: ListPerson? { people.first(where: \.isMe) }
    public var owner: ListPerson? { people.first(where: \.isOwner) }
    /// The participants and invited people, without the owner.
    public var others: [ListPerson] { people.filter { !$0.isOwner && $0.standing != .gone } }
}

extension ListSharing {
    init(_ share: CKShare) {
        link = share.url
        switch share.publicPermission {
        case .readOnly: linkAccess = .read
        case .readWrite: linkAccess = .write
        default: linkAccess = .invitedOnly
        }
        let me = share.currentUserParticipant?.participantID
        people = share.participants.map { ListPerson($0, isMe: $0.participantID == me) }
            .sorted { ($0.isOwner ? 0 : 1, $0.name, $0.id) < ($1.isOwner ? 0 : 1, $1.name, $1.id) }
        takesRequests = share.allowsAccessRequests
        requests = share.requesters.map { $0.userIdentity.shownName }
        requesterIDs = share.requesters.map { $0.userIdentity.userRecordID?.recordName ?? "" }
    }
}

extension ListPerson {
    init(_ participant: CKShare.Participant, isMe: Bool) {
        id = participant.participantID
        userName = participant.userIdentity.userRecordID?.recordName
        name = participant.userIdentity.shownName
        isOwner = participant.role == .owner
        self.isMe = isMe
        mayWrite = isOwner || participant.permission == .readWrite
        switch participant.acceptanceStatus {
        case .accepted: standing = .joined
        case .removed: standing = .gone
        default: standing = isOwner ? .joined : .invited
        }
    }
}

extension CKUserIdentity {
    /// A person's name, or else the address that they are known by.
    var shownName: String {
        let parts = [nameComponents?.givenName, nameComponents?.familyName].compactMap { $0 }
            .filter { !$0.isEmpty }
        return ListText.shortened(
            parts.isEmpty
                ? lookupInfo?.emailAddress ?? lookupInfo?.phoneNumber ?? "somebody"
                : parts.joined(separator: " "))
    }
}

/// Why a sharing action was refused, as a sentence.
public struct SharingRefused: Error, Hashable, CustomStringConvertible {
    public enum Reason: Hashable, Sendable {
        case noAccount, accountUnknown, sharedAlready, notShared, notOwner, hereAlready, turnedOff
        case noList, notInvited, noRequests
    }

    public let reason: Reason
    /// The list's title, or the link, where that helps.
    public let detail: String

    init(_ reason: Reason, _ detail: String = "") {
        self.reason = reason
        self.detail = ListText.oneLine(detail)
    }

    public var description: String {
        switch reason {
        case .noAccount: "No user is signed in; sign in first, because sharing needs an account."
        case .accountUnknown:
            "The service does not say now whether you are signed in; try again when it can be reached."
        case .sharedAlready: "\(detail) is shared already; invite people, or send them its link."
        case .notShared: "\(detail) is not shared; share it first."
        case .notOwner: "Only the owner of \(detail) can do this; ask them."
        case .hereAlready: "\(detail) is on this device already; open it."
        case .notInvited:
            "This link opens no list for you, because you are not invited: ask its owner to invite you, or ask to be "
                + "let in, if the owner accepts requests."
        case .noRequests:
            "This link does not accept requests to join. Ask its owner to invite you."
        case .noList:
            "This link leads to something other than a shopping list; open it with its own app."
        case .turnedOff:
            "This version of the app joins shared lists, and does not share any yet; a later version will."
        }
    }
}

/// How an app shares lists. By default among invited people only, all of whom may write.
public struct SharingPolicy: Hashable, Sendable {
    /// Whether lists can be shared from here; joining works in any case, so that an app can be ready before the
    /// version that shares.
    public var isSharingOn = true
    /// What everyone who has the link of a shared list may do.
    public var linkAccess = ListSharing.LinkAccess.invitedOnly
    /// Whether those who are invited may change the list.
    public var invitedMayWrite = true

    public init() {}
}
