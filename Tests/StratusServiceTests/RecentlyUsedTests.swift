import Testing

@testable import StratusService

@Suite struct RecentlyUsedTests {
    @Test func holdsNoMoreThanItMayAndForgetsTheLongestUnused() {
        var memory = RecentlyUsed<Int, Int>(capacity: 100)
        for number in 0..<10_000 {
            memory[number] = number
            // One that is asked for again and again stays.
            #expect(memory[0] == 0)
            #expect(memory.count <= 100)
        }
        #expect(memory[9_999] == 9_999)
        #expect(memory[5_000] == nil)
    }

    @Test func aNewValueReplacesTheOldOneInBothGenerations() {
        var memory = RecentlyUsed<Int, String>(capacity: 4)
        memory[1] = "old"
        memory[2] = "two"
        memory[3] = "three"
        memory[1] = "new"
        #expect(memory[1] == "new")
        memory[1] = nil
        #expect(memory[1] == nil)
        memory[2] = "again"
        memory.removeAll()
        #expect(memory.count == 0 && memory[2] == nil)
    }
}
