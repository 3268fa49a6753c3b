import Foundation
import StratusMapping
import Synchronization

typealias Person = CloudObject<PersonFields>
typealias Home = CloudObject<HomeFields>
typealias Course = CloudObject<CourseFields>
typealias Ticket = CloudObject<TicketFields>
typealias Shelf = CloudObject<ShelfFields>
typealias Book = CloudObject<BookFields>

enum Rank: String, Sendable {
    case guest
    case keeper
}

struct PersonFields: CloudFields {
    static let cloudMap = CloudMap<Person>("Person")
        .field(\.firstName, "firstName")
        .field(\.lastName, "lastName")
        .field(\.age, "age", default: 18)
        .field(\.rank, "rank", default: .guest)
        .field(\.tags, "tags")
        .asset(\.photo, "photo")
        .reference(\.home, "address")
        .references(\.courses, "courses")
        .ignore(when: \.isDraft)
    var firstName = ""
    var lastName: String?
    var age = 18
    var rank = Rank.guest
    var tags: [String] = []
    var photo: URL?
    var home: Home?
    var courses: [Course] = []
    var isDraft = false
}

struct HomeFields: CloudFields {
    static let unknown = Home(HomeFields(road: "unknown"))
    static let cloudMap = CloudMap<Home>("Home")
        .field(\.road, "road")
        .reference(\.owner, "owner")
        .placeholder(unknown)
    var road = ""
    var owner: Person?
}

/// A target of weak references.
struct CourseFields: CloudFields {
    static let cloudMap = CloudMap<Course>("Course").field(\.title, "title").weak()
    var title = ""
}

/// A holder of a weak reference.
struct TicketFields: CloudFields {
    static let cloudMap = CloudMap<Ticket>("Ticket")
        .field(\.number, "number").reference(\.course, "course")
    var number = 0
    var course: Course?
}

/// A holder of references that are not weak, to one object and to many.
struct ShelfFields: CloudFields {
    static let cloudMap = CloudMap<Shelf>("Shelf").field(\.label, "label")
        .reference(\.first, "first").references(\.books, "books")
    var label = ""
    var first: Book?
    var books: [Book] = []
}

struct BookFields: CloudFields {
    static let cloudMap = CloudMap<Book>("Book").field(\.title, "title")
    var title = ""
}

/// A class of an app's own, with names of its own for the two keys.
final class Tool: CloudCreatable {
    static let cloudMap = CloudMap<Tool>("Tool")
        .syncID(\.cloudName).changeDate(\.editedAt, "editedAt").field(\.label, "label")
    private let state = Mutex((name: String?.none, date: Date?.none, label: ""))
    init() {}
    var cloudName: String? {
        get { state.withLock { $0.name } }
        set { state.withLock { $0.name = newValue } }
    }
    var editedAt: Date? {
        get { state.withLock { $0.date } }
        set { state.withLock { $0.date = newValue } }
    }
    var label: String {
        get { state.withLock { $0.label } }
        set { state.withLock { $0.label = newValue } }
    }
}
