import StratusWire

/// The users in tests of sharing; each one's e-mail address is the name at example.org.
struct Travellers {
    /// The owner.
    let ida: Person
    let bo: Person
    let cy: Person
    let di: Person
    let eve: Person

    /// Creates Ida's zone "Trips".
    init(_ world: World) async throws {
        ida = try await world.person("ida@example.org", with: "Trips")
        bo = try await world.person("bo@example.org")
        cy = try await world.person("cy@example.org")
        di = try await world.person("di@example.org")
        eve = try await world.person("eve@example.org")
    }
}

/// A share of Ida's zone "Trips", and the users around it.
protocol SharedTrip {
    var people: Travellers { get }
}

extension SharedTrip {
    var world: World { ida.world }
    var ida: Person { people.ida }
    var bo: Person { people.bo }
    var cy: Person { people.cy }
    var di: Person { people.di }
    var eve: Person { people.eve }
    /// The zone as other users name it.
    var trips: ZoneIDDictionary { zone("Trips", of: ida) }
}
