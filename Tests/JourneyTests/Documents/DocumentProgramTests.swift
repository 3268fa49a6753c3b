#if os(Linux)
    import Foundation
    import TestProcesses
    import Testing

    /// The programs of the founding documents 001 and 002, call by call, as separate processes
    /// with a real `stratus serve`. Their code does not refer to Stratus.
    @Suite(.timeLimit(.minutes(20)))
    struct DocumentProgramTests {
        let service: ServedInstance
        let homes: [TemporaryFolder]

        init() throws {
            service = try ServedInstance(dataFolder: nil)
            homes = [try TemporaryFolder(), try TemporaryFolder()]
        }

        private func memo(_ device: String, home: Int, user: String = "ida") throws
            -> DocumentDevice
        {
            try DocumentDevice("memo", service, user: user, device: device, home: homes[home])
        }

        private func tasks(_ device: String, home: Int) throws -> DocumentDevice {
            try DocumentDevice("tasks", service, user: "ida", device: device, home: homes[home])
        }

        // MARK: Document 001

        @Test(
            "A memo saved on one device is loaded on the other; its missing zone is created")
        func savedMemoReachesOtherDevice() throws {
            let phone = try memo("phone", home: 0)
            let tablet = try memo("tablet", home: 1)
            #expect(throws: DocumentDevice.Silence.self) { try phone.tap("load", "loaded") }
            #expect(phone.lines.last == "failed absent")
            #expect(try phone.tap("save 100 Buy oats", "saved") == "100 Buy oats")
            #expect(try tablet.tap("load", "loaded") == "100 Buy oats")
            #expect(try tablet.tap("save 200 Buy rye", "saved") == "200 Buy rye")
            #expect(try phone.tap("load", "loaded") == "200 Buy rye")
        }

        @Test("Each user has a separate memo")
        func memosArePrivate() throws {
            let ida = try memo("phone", home: 0)
            let bo = try memo("phone", home: 1, user: "bo")
            try ida.tap("save 100 Buy oats", "saved")
            #expect(throws: DocumentDevice.Silence.self) { try bo.tap("load", "loaded") }
            #expect(bo.lines.last == "failed absent")
        }

        @Test("A silent push makes the other device fetch the changes since its stored token")
        func silentPushFetchesChangedMemo() throws {
            let phone = try memo("phone", home: 0)
            var tablet = try memo("tablet", home: 1)
            try phone.tap("save 100 Buy oats", "saved")
            try phone.tap("subscribed", "subscribed")
            try tablet.tap("load", "loaded")
            try tablet.tap("register", "registered")
            try phone.tap("save 200 Buy rye", "saved")
            #expect(try tablet.wait(for: "changed") == "200 Buy rye")
            #expect(tablet.lines.contains("push newData"))
            // The token is kept between launches.
            #expect(try tablet.quit() == 0)
            tablet = try memo("tablet", home: 1)
            try tablet.tap("load", "loaded")
            try tablet.tap("register", "registered")
            try phone.tap("save 300 Buy wheat", "saved")
            #expect(try tablet.wait(for: "changed") == "300 Buy wheat")
        }

        @Test("The newer one of two conflicting saves wins on both devices")
        func laterMemoWinsConflict() throws {
            let phone = try memo("phone", home: 0)
            let tablet = try memo("tablet", home: 1)
            try phone.tap("save 100 Buy oats", "saved")
            try tablet.tap("load", "loaded")
            // The phone's text is newer: it overwrites the tablet's.
            try tablet.tap("save 300 Tablet", "saved")
            #expect(try phone.tap("save 400 Phone", "saved") == "400 Phone")
            #expect(phone.lines.contains("changed 400 Phone"))
            // The tablet's text is older: it is replaced by the phone's.
            #expect(try tablet.tap("save 350 Tablet again", "saved") == "400 Phone")
            #expect(tablet.lines.contains("changed 400 Phone"))
            #expect(try phone.tap("load", "loaded") == "400 Phone")
        }

        // MARK: Document 002

        /// Starts two devices; the phone adds tasks before the tablet starts.
        private func pairOfTasks(
            _ added: String...
        ) throws -> (phone: DocumentDevice, tablet: DocumentDevice) {
            let phone = try tasks("phone", home: 0)
            let tablet = try tasks("tablet", home: 1)
            try phone.tap("start", "started")
            for task in added { try phone.tap("add " + task, "done") }
            try tablet.tap("start", "started")
            return (phone, tablet)
        }

        @Test("A local copy follows adding, editing and deleting with stored system fields")
        func tasksSyncBetweenDevices() throws {
            let (phone, tablet) = try pairOfTasks("one Oil the gate", "two Mend the net")
            #expect(tablet.lines.contains("record changed: one Oil the gate"))
            #expect(try tablet.tap("rows", "rows") == "2")
            // The record is created from the row's archived system fields alone.
            try tablet.tap("edit one Paint the gate", "done")
            try tablet.tap("remove two", "done")
            try phone.tap("sync", "synced")
            #expect(phone.lines.contains("record changed: one Paint the gate"))
            #expect(phone.lines.contains("record deleted: two"))
            #expect(try phone.tap("rows", "rows") == "1")
        }

        @Test("A database subscription's push fetches the changes of its scope")
        func databasePushFetchesChangedTasks() throws {
            let (phone, tablet) = try pairOfTasks()
            try tablet.tap("register", "registered")
            try phone.tap("add one Oil the gate", "done")
            try tablet.wait(for: "push newData")
            #expect(tablet.lines.contains("received notification"))
            #expect(tablet.lines.contains("record changed: one Oil the gate"))
        }

        @Test("After a restart only new changes are fetched, page by page")
        func restartFetchesOnlyNewTasks() throws {
            let (phone, first) = try pairOfTasks("one Oil the gate")
            #expect(try first.quit() == 0)
            try phone.tap("fill 200", "done")
            try phone.tap("add last Lock up", "done")
            let tablet = try tasks("tablet", home: 1)
            try tablet.tap("start", "started")
            #expect(!tablet.lines.contains { $0.hasPrefix("record changed: one ") })
            #expect(tablet.lines.contains("record changed: last Lock up"))
            #expect(tablet.lines.contains("page of Tasks"))
            #expect(try tablet.tap("rows", "rows") == "201")
        }

        @Test("A zone that another device deleted is removed from the local copy")
        func deletedTasksZoneClearsLocalCopy() throws {
            let (phone, tablet) = try pairOfTasks("one Oil the gate")
            try phone.tap("clear", "cleared")
            try tablet.tap("sync", "synced")
            #expect(tablet.lines.contains("zone deleted Tasks"))
            #expect(try tablet.tap("rows", "rows") == "0")
        }
    }
#endif
