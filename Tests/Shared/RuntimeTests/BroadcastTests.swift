import Testing

@testable import StratusRuntime

@Suite struct BroadcastTests {
    @Test func listenerReceivesElementsSentAfterItsStart() async {
        let broadcast = Broadcast<Int>()
        broadcast.send(0)
        let early = broadcast.stream()
        broadcast.send(1)
        let late = broadcast.stream()
        broadcast.send(2)
        broadcast.finish()
        #expect(await early.reduce(into: []) { $0.append($1) } == [1, 2])
        #expect(await late.reduce(into: []) { $0.append($1) } == [2])
    }

    @Test func boundedListenerBuffersTheNewestElements() async {
        let broadcast = Broadcast<Int>()
        let newest = broadcast.stream(bufferingPolicy: .bufferingNewest(2))
        let all = broadcast.stream()
        for number in 1...4 { broadcast.send(number) }
        broadcast.finish()
        #expect(await newest.reduce(into: []) { $0.append($1) } == [3, 4])
        #expect(await all.reduce(into: []) { $0.append($1) } == [1, 2, 3, 4])
    }

    @Test func listenerAfterFinishReceivesLaterElements() async {
        let broadcast = Broadcast<Int>()
        let first = broadcast.stream()
        broadcast.finish()
        broadcast.send(1)
        let second = broadcast.stream()
        broadcast.send(2)
        broadcast.finish()
        #expect(await first.reduce(into: []) { $0.append($1) } == [])
        #expect(await second.reduce(into: []) { $0.append($1) } == [2])
    }

    @Test func endOfOneListenerKeepsTheOthers() async {
        let broadcast = Broadcast<Int>()
        let other = broadcast.stream()
        do {
            let ended = broadcast.stream()
            #expect(broadcast.listenerCount == 2)
            broadcast.send(1)
            for await number in ended where number == 1 { break }
        }
        // Its last reference was released, and with it the stream.
        #expect(broadcast.listenerCount == 1)
        broadcast.send(2)
        broadcast.finish()
        #expect(await other.reduce(into: []) { $0.append($1) } == [1, 2])
    }
}
