import CloudKit
import Foundation
import StratusMapping

private var folder: URL { fatalError() }
private var store: MemoryStore { fatalError() }
private var mapping: CloudMapping { fatalError() }
private var connection: CloudConnection { fatalError() }
/// The identifier of the container.
private var app: String { fatalError() }
private var person: Person { fatalError() }
private var huts: [Hut] { fatalError() }
private var id: String { fatalError() }

private func redraw() {}

private typealias Person = CloudObject<PersonFields>
private typealias Home = CloudObject<HomeFields>

private struct PersonFields: CloudFields {
    static let cloudMap = CloudMap<Person>("Person").reference(\.home, "address")
    var firstName = ""
    var lastName = ""
    var home: Home?
    var friends: [Person] = []
}

private struct HomeFields: CloudFields {
    static let cloudMap = CloudMap<Home>("Home")
}

private struct Hut: CloudKeyed {
    static let cloudMap = CloudMap<Hut>("Hut")
    var syncID: String? = UUID().uuidString
    var changeDate: Date?
}
