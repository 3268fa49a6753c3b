import StratusRecords
import StratusStorage

extension StoreConformance {
    static let subscriptions: [Case] = [
        Case("subscriptions belong to their users") { storage in
            let store = try await storage.store(for: address)
            let rows = [
                SubscriptionRow(user: "_alice", identifier: "a", body: [1]),
                SubscriptionRow(user: "_alice", identifier: "b", body: []),
                SubscriptionRow(user: "_bob", identifier: "a", body: [3]),
            ]
            try await store.writeRecords { writer in
                for row in rows.reversed() { try writer.put(row) }
            }
            try await store.read { reader in
                try expect(reader.subscriptions(of: nil), equals: rows)
                try expect(reader.subscriptions(of: "_bob"), equals: [rows[2]])
                try expect(reader.subscriptions(of: "_eve"), equals: [])
            }
            let changed = SubscriptionRow(user: "_alice", identifier: "a", body: [9, 9])
            try await store.writeRecords { writer in
                try writer.put(changed)
                try writer.deleteSubscription("b", of: "_alice")
                try writer.deleteSubscription("b", of: "_bob")
            }
            let left = try await store.read { try $0.subscriptions(of: nil) }
            try expect(left, equals: [changed, rows[2]])
        },

        Case("outcomes are found by user, device and operation, until they expire") { storage in
            let store = try await storage.store(for: address)
            let key = OperationKey(user: "_alice", device: "phone", operation: "1")
            let strangers = [
                OperationKey(user: "_bob", device: "phone", operation: "1"),
                OperationKey(user: "_alice", device: "tablet", operation: "1"),
                OperationKey(user: "_alice", device: "phone", operation: "2"),
            ]
            try await store.writeRecords { writer in
                try writer.put(outcome: [1], of: key, expiresMilliseconds: 50)
                try writer.put(outcome: [2], of: key, expiresMilliseconds: 100)
                try writer.put(outcome: [], of: strangers[2], expiresMilliseconds: 101)
            }
            try await store.read { reader in
                try expect(reader.outcome(of: key), equals: [2])
                try expect(reader.outcome(of: strangers[0]), equals: nil)
                try expect(reader.outcome(of: strangers[1]), equals: nil)
                try expect(reader.outcome(of: strangers[2]), equals: [])
            }
            try await store.writeRecords { try $0.deleteOutcomes(expiredAt: 99) }
            let kept = try await store.read { try $0.outcome(of: key) }
            try expect(kept, equals: [2])
            try await store.writeRecords { try $0.deleteOutcomes(expiredAt: 100) }
            try await store.read { reader in
                try expect(reader.outcome(of: key), equals: nil)
                try expect(reader.outcome(of: strangers[2]), equals: [])
            }
        },

        Case("expired outcomes are removed a thousand at a time") { storage in
            let store = try await storage.store(for: address)
            @Sendable func key(_ number: Int) -> OperationKey {
                OperationKey(user: "_alice", device: "phone", operation: "\(number)")
            }
            try await store.writeRecords { writer in
                for number in 0...1_001 {
                    try writer.put(
                        outcome: [1], of: key(number), expiresMilliseconds: Int64(number))
                }
            }
            for kept in [[1_000, 1_001], [1_001]] {
                try await store.writeRecords { try $0.deleteOutcomes(expiredAt: 1_000) }
                let found = try await store.read { reader in
                    try (0...1_001).filter { try reader.outcome(of: key($0)) != nil }
                }
                try expect(found, equals: kept)
            }
        },

        Case("the outbox keeps its order and uses no identifier twice") { storage in
            let store = try await storage.store(for: address)
            for body: [UInt8] in [[1], [2], [3]] {
                try await store.writeRecords { try $0.enqueue(body) }
            }
            let rows = try await store.read { try $0.outbox(limit: 2) }
            try expect(rows.map(\.body), equals: [[1], [2]])
            let sent = try unwrap(rows.last?.identifier)
            let later = try await store.read { try $0.outbox(after: sent, limit: 9) }
            try expect(later.map(\.body), equals: [[3]])
            let none = try await store.read { try $0.outbox(after: sent + 1, limit: 9) }
            try expect(none, equals: [])
            try await store.writeRecords { try $0.dequeue(through: sent) }
            let rest = try await store.read { try $0.outbox(limit: 9) }
            try expect(rest.map(\.body), equals: [[3]])
            let last = try unwrap(rest.last?.identifier)
            try expect(last > sent, "the outbox is out of order")
            try await store.writeRecords { writer in
                try writer.dequeue(through: last)
                try writer.enqueue([4])
            }
            let fresh = try await store.read { try $0.outbox(limit: 9) }
            try expect(fresh.map(\.body), equals: [[4]])
            try expect(try unwrap(fresh.first?.identifier) > last, "an identifier was used twice")
        },
    ]
}
