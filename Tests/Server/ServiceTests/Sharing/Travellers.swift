import StratusWire

/// The people of tests about sharing; the address of each is the name, at example.org.
struct Travellers {
    /// Who shares.
    let ida: Person
    let bo: Person
    let cy: Person
    let di: Person
    let eve: Person

    /// Ida makes her zone "Trips".
    init(_ world: World) async throws {
        ida = try await world.person("ida@example.org", with: "Trips")
        bo = try await world.person("bo@example.org")
        cy = try await world.person("cy@example.org")
        di = try await world.person("di@example.org")
        eve = try await world.person("eve@example.org")
    }
}

/// What Ida shares of her zone "Trips", and the people around it.
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
    /// The zone as others name it.
    var trips: ZoneIDDictionary { zone("Trips", of: ida) }
}
