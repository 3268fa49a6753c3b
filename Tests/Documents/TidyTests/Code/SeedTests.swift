import TestSeeds
import Testing

/// The seeds of property tests can be drawn again, and each kept seed has a test.
@Suite struct SeedTests {
    @Test func sameRunDrawsTheSameSeeds() {
        let seeds = Seeds.fresh("A", count: 100, run: 7)
        #expect(Set(seeds).count == 100)
        #expect(Seeds.fresh("A", count: 3, run: 7) == Array(seeds.prefix(3)))
        #expect(Set(Seeds.fresh("A", count: 100, run: 8)).isDisjoint(with: seeds))
        #expect(Set(Seeds.fresh("B", count: 100, run: 7)).isDisjoint(with: seeds))
    }

    @Test func keptSeedsComeFirst() throws {
        let (name, kept) = try #require(Seeds.kept.first)
        #expect(Seeds.forTest(name, count: 2).prefix(kept.count) == kept[...])
        #expect(Seeds.forTest(name, count: 2).count == kept.count + 2)
    }

    @Test func everyKeptSeedHasItsTest() {
        let names = Repository.tests.flatMap { file in
            file.code.indices.dropLast(2).filter { file.code[$0].text == "forTest" }
                .map { file.code[$0 + 2].text.filter { $0 != "\"" } }
        }
        for name in Seeds.kept.keys {
            #expect(
                names.contains(name), "\(name): seeds are kept for it and no test asks for them")
        }
    }
}
