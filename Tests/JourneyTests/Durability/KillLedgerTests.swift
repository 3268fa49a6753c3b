#if os(Linux)
    import Testing

    /// Shows that the oracle of ``KilledDeviceTests`` can fail.
    @Suite struct KillLedgerTests {
        private static let phone = [
            "1000 life phone.0", "1000 view 0",
            "1001 begin phone.0.1 make r", "1002 end phone.0.1",
            "1003 begin phone.0.2 edit-a r", "1004 end phone.0.2",
            "1005 begin phone.0.3 make s", "1006 end phone.0.3",
            "1007 begin phone.0.4 delete s", "1008 end phone.0.4",
        ]
        /// Killed during an edit.
        private static let cut = phone + ["1009 begin phone.0.5 edit-b r"]

        private static func ledger(_ lines: [String], _ others: [String] = []) -> KillLedger {
            KillLedger([lines, others].map { $0.map { $0 + " .\n" }.joined() })
        }

        private static func row(_ text: String) -> KillLedger.Row {
            KillLedger.row(text.split(separator: " ").map(String.init))
        }

        private static let stored = row("r phone.0.1 phone.0.2 phone.0.1")

        @Test func acknowledgedChangesAreExpected() {
            #expect(Self.ledger(Self.phone).violations(atEnd: [Self.stored]).isEmpty)
        }

        @Test func changeInterruptedByTheKillMayBeMissing() {
            let ledger = Self.ledger(Self.cut)
            #expect(ledger.violations(atEnd: [Self.stored]).isEmpty)
            let edited = Self.row("r phone.0.1 phone.0.2 phone.0.5")
            #expect(ledger.violations(atEnd: [edited]).isEmpty)
            // A line that the kill cut is ignored.
            let begun = KillLedger([
                Self.phone.map { $0 + " .\n" }.joined() + "1009 begin phone.0.5 make r"
            ])
            #expect(begun.violations(atEnd: [Self.stored]).isEmpty)
        }

        @Test(arguments: [
            ([], "lost: what phone.0.1 made"),
            (["r phone.0.1 phone.0.1 phone.0.1"], "lost: what phone.0.2 wrote, for the older"),
            (["r phone.0.1 phone.0.2 -"], "lost: r has - in b, which no operation wrote there"),
            (
                ["r phone.0.1 phone.0.2 phone.0.1", "t phone.0.1 phone.0.2 phone.0.1"],
                "doubled: what phone.0.1 made is there 2 times"
            ),
            (
                ["r phone.0.1 phone.0.2 phone.0.1", "r phone.0.1 phone.0.2 phone.0.1"],
                "doubled: record r is there 2 times"
            ),
            (
                ["r phone.0.1 phone.0.2 phone.0.1", "s phone.0.3 phone.0.3 phone.0.3"],
                "back: s, which phone.0.4 deleted"
            ),
        ]) func violationIsFound(_ rows: [String], _ sentence: String) {
            let found = Self.ledger(Self.phone).violations(atEnd: rows.map(Self.row))
            #expect(found.contains { $0.hasPrefix(sentence) }, "\(found)")
        }

        @Test func laterEditOfAnotherDeviceIsExpected() {
            let tablet = [
                "1000 life tablet.0", "2000 begin tablet.0.1 edit-a r", "2001 end tablet.0.1",
            ]
            let ledger = Self.ledger(Self.phone, tablet)
            #expect(
                ledger.violations(atEnd: [Self.stored]) == [
                    "lost: what tablet.0.1 wrote, for the older phone.0.2"
                ])
            let edited = Self.row("r phone.0.1 tablet.0.1 phone.0.1")
            #expect(ledger.violations(atEnd: [edited]).isEmpty)
        }

        @Test func deletionByAnotherDeviceIsNoLoss() {
            let tablet = [
                "1000 life tablet.0", "2000 begin tablet.0.1 delete r", "2001 end tablet.0.1",
            ]
            let ledger = Self.ledger(Self.phone, tablet)
            #expect(ledger.violations(atEnd: []).isEmpty)
            #expect(
                ledger.violations(atEnd: [Self.stored]) == [
                    "back: r, which tablet.0.1 deleted"
                ])
        }

        @Test func fileOfTheNextProcessIsCompared() {
            let rows = ["1010 row r phone.0.1 phone.0.1 phone.0.1", "1010 view 1"]
            let ledger = Self.ledger(Self.phone + ["1010 life phone.1"] + rows)
            #expect(
                ledger.views.flatMap { ledger.violations(in: $0) } == [
                    "phone.1: lost: what phone.0.2 wrote, for the older phone.0.1"
                ])
        }
    }
#endif
