import SwiftSyntaxMacrosGenericTestSupport
import Testing

/// The code that `@CloudRecord` generates.
@Suite struct ExpansionTests {
    @Test func structGetsMapAndKeys() {
        expectExpansion(
            of: """
                @CloudRecord("Shelter")
                struct Hut {
                    var name = ""
                    var beds: Int = 10
                    var keeper: String?
                }
                """,
            """
            struct Hut {
                var name = ""
                var beds: Int = 10
                var keeper: String?

                static let cloudMap: CloudMap<Hut> = CloudMap("Shelter")
                    .property(\\.name, "name", default: "")
                    .property(\\.beds, "beds", default: 10)
                    .property(\\.keeper, "keeper")

                var syncID: String? = UUID().uuidString

                var changeDate: Date?
            }

            extension Hut: CloudEntity, CloudKeyed, CloudCreatable {
            }
            """)
    }

    @Test func marksNameFieldsReferencesAndLocalProperties() {
        expectExpansion(
            of: """
                @CloudRecord(isWeak: true)
                public struct Hut {
                    @CloudField("title") public var name: String
                    @CloudReference(to: Valley.self) var valleyID: String?
                    @CloudReference(to: Guest.self, "guests") var guestIDs: [String] = []
                    @CloudLocal var isOpen = false
                    @CloudIgnore var isDraft = false
                    @CloudPlaceholder static let unknown = Hut(name: "unknown")
                    static let count = 3
                    var isLarge: Bool { true }
                }
                """,
            """
            public struct Hut {
                public var name: String
                var valleyID: String?
                var guestIDs: [String] = []
                var isOpen = false
                var isDraft = false
                static let unknown = Hut(name: "unknown")
                static let count = 3
                var isLarge: Bool { true }

                public static let cloudMap: CloudMap<Hut> = CloudMap("Hut")
                    .property(\\.name, "title")
                    .reference(\\.valleyID, to: Valley.self, "valleyID")
                    .references(\\.guestIDs, to: Guest.self, "guests")
                    .ignore(when: \\.isDraft)
                    .placeholder(unknown)
                    .weak()

                public var syncID: String? = UUID().uuidString

                public var changeDate: Date?
            }

            extension Hut: CloudEntity, CloudKeyed {
            }
            """)
    }

    @Test func fieldsOfACloudObjectGetOnlyTheMap() {
        expectExpansion(
            of: """
                @CloudRecord
                struct HutFields: CloudFields {
                    var name = ""
                    var valley: Valley?
                    var guests: [Guest] = []
                }
                """,
            """
            struct HutFields: CloudFields {
                var name = ""
                var valley: Valley?
                var guests: [Guest] = []

                static let cloudMap: CloudMap<CloudObject<HutFields>> = CloudMap("Hut")
                    .property(\\.name, "name", default: "")
                    .property(\\.valley, "valley")
                    .property(\\.guests, "guests", default: [])
            }
            """)
    }

    @Test func onlyMarkedPropertiesOfAClassAreKeys() {
        expectExpansion(
            of: """
                @CloudRecord
                final class Tool {
                    init() {}
                    @CloudSyncID var cloudName: String? { get { nil } set {} }
                    @CloudChangeDate("editedAt") var editedAt: Date? { get { nil } set {} }
                    @CloudField var label: String { get { "" } set {} }
                    var shown: String { get { "" } set {} }
                }
                """,
            """
            final class Tool {
                init() {}
                var cloudName: String? { get { nil } set {} }
                var editedAt: Date? { get { nil } set {} }
                var label: String { get { "" } set {} }
                var shown: String { get { "" } set {} }

                static let cloudMap: CloudMap<Tool> = CloudMap("Tool")
                    .syncID(\\.cloudName)
                    .changeDate(\\.editedAt, "editedAt")
                    .property(\\.label, "label")
            }

            extension Tool: CloudEntity, CloudCreatable {
            }
            """)
    }

    /// A default is read once, so a value that differs each time cannot be one.
    @Test func onlyConstantsAreDefaults() {
        expectExpansion(
            of: """
                @CloudRecord
                struct Hut {
                    var height = -12.5
                    var rank = Rank.guest
                    var tags: [String] = ["a", "b"]
                    var code = UUID().uuidString
                    var built = Date.now
                    var text = "\\(height)"
                }
                """,
            """
            struct Hut {
                var height = -12.5
                var rank = Rank.guest
                var tags: [String] = ["a", "b"]
                var code = UUID().uuidString
                var built = Date.now
                var text = "\\(height)"

                static let cloudMap: CloudMap<Hut> = CloudMap("Hut")
                    .property(\\.height, "height", default: -12.5)
                    .property(\\.rank, "rank", default: Rank.guest)
                    .property(\\.tags, "tags", default: ["a", "b"])
                    .property(\\.code, "code")
                    .property(\\.built, "built")
                    .property(\\.text, "text")

                var syncID: String? = UUID().uuidString

                var changeDate: Date?
            }

            extension Hut: CloudEntity, CloudKeyed, CloudCreatable {
            }
            """)
    }
}
