/// Everything that the page shows of a device, as one value; the page only draws it.
package struct PageState: Codable, Hashable, Sendable {
    /// A list that can be opened.
    package struct ListLine: Codable, Hashable, Sendable {
        package let id, title: String
        package let toBuyCount: Int
        package let isOwn, isShared: Bool
    }

    /// A line of the open list.
    package struct Row: Codable, Hashable, Sendable {
        package let id, name: String
        package let quantity: Int
        package let note, category: String?
        package let isTicked: Bool
        /// Differs each time the item gets another picture; nil without one.
        package let picture: String?
        /// In shopping mode an item that others removed keeps its line.
        package let isRemoved: Bool
        package let addedBy: String
        package let tickedBy: String?
        /// Who changed it last, while the user has done nothing since.
        package let changedBy: String?
    }

    /// An aisle, or a user-defined category.
    package struct Section: Codable, Hashable, Sendable {
        package let name: String
        /// The place of the aisle on the way through the shop, which gives its colour; nil for what
        /// is in none.
        package let aisle: Int?
        package let rows: [Row]
    }

    /// An item that another person added while the user is shopping.
    package struct Notice: Codable, Hashable, Sendable {
        package let id, name, addedBy: String
    }

    package struct Person: Codable, Hashable, Sendable {
        package enum Role: String, Codable, Sendable { case owner, writes, reads }

        package let id, name: String
        package let role: Role
        package let isMe, isInvited: Bool
    }

    package struct Sharing: Codable, Hashable, Sendable {
        /// What everyone who has the link may do.
        package enum Access: String, Codable, Sendable { case invited, read, write }

        package let link: String?
        package let access: Access
        package let takesRequests: Bool
        package let people: [Person]
        package let requests: [String]
    }

    package struct OpenList: Codable, Hashable, Sendable {
        package let id, title: String
        package let colour: String?
        package let isOwn, isShopping: Bool
        package let toBuyCount, boughtCount: Int
        package let sections: [Section]
        package let notices: [Notice]
        /// Nil while the list is not shared.
        package let sharing: Sharing?
        /// Items that are on the list twice, each group by its names.
        package let duplicates: [[String]]
    }

    /// Whether everything is sent, what is pending, and why.
    package struct Sync: Codable, Hashable, Sendable {
        package enum Kind: String, Codable, Sendable {
            /// Without an account the lists stay on this device.
            case local
            case synced, syncing
            /// Switched off here.
            case offline
            case unreachable, refused, halted
        }

        package let kind: Kind
        package let line: String
        package let pendingCount: Int
        /// Pending changes in words, oldest first.
        package let pending: [String]
        package let refused: [String]
    }

    /// What another person did, in one line.
    package struct Announcement: Codable, Hashable, Sendable {
        package let number: Int
        package let sentence: String
    }

    package let device, person: String
    package let lists: [ListLine]
    package let open: OpenList?
    package let sync: Sync
    /// The last few, by ascending number.
    package let announcements: [Announcement]
    package let needsNewerApp: Bool
}

/// What happened to the open list, newest first.
package struct PageActivity: Codable, Hashable, Sendable {
    package struct Line: Codable, Hashable, Sendable {
        package let id, sentence: String
        /// Since 1970.
        package let milliseconds: Int64
        package let canUndo: Bool
    }

    package let lines: [Line]
}

/// A product that the catalogue knows.
package struct PageSuggestion: Codable, Hashable, Sendable {
    package let name, aisle: String
}
