import StratusRecords
import Testing

@Suite struct CrockfordBase32Tests {
    @Test func fiveBitsBecomeOneLetter() {
        #expect(CrockfordBase32.text([]) == "")
        #expect(CrockfordBase32.text([0xFF]) == "ZW")
        #expect(CrockfordBase32.text([0, 0, 0, 0, 0x1F]) == "0000000Z")
        #expect(CrockfordBase32.text([0x12, 0x34, 0x56, 0x78, 0x9A]) == "28T5CY4T")
    }

    @Test func everyByteRoundTrips() {
        let bytes = Array(UInt8.min...UInt8.max)
        for count in 0...bytes.count {
            let written = Array(bytes.suffix(count))
            #expect(CrockfordBase32.bytes(CrockfordBase32.text(written)) == written)
        }
    }

    @Test func typedTextIsNormalized() {
        #expect(CrockfordBase32.normalized(" 28t5-cy4t\n") == "28T5CY4T")
        #expect(CrockfordBase32.normalized("oOiIlL") == "001111")
        #expect(CrockfordBase32.bytes("28t5 cy4t") == [0x12, 0x34, 0x56, 0x78, 0x9A])
    }

    @Test(arguments: ["U", "28T5CY4!", "é", "\u{FF10}0", "0\u{301}0"])
    func textWithAnotherLetterHasNoBytes(_ text: String) {
        #expect(CrockfordBase32.bytes(text) == nil)
    }
}
