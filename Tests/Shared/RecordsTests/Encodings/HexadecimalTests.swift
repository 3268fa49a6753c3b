import StratusRecords
import Testing

@Suite struct HexadecimalTests {
    @Test func everyByteIsTwoDigitsInLowerCase() {
        #expect(Hexadecimal.text([0x00, 0x0A, 0x10, 0x9F, 0xFF]) == "000a109fff")
        let bytes = Array(UInt8.min...UInt8.max)
        let text = Hexadecimal.text(bytes)
        #expect(text.utf8.count == 512)
        #expect(Hexadecimal.bytes(text) == bytes)
        #expect(Hexadecimal.bytes(text.uppercased()) == bytes)
    }

    @Test func sequencesAndPartsOfTextAreTaken() {
        let bytes: [UInt8] = [0x01, 0xAB, 0x02]
        #expect(Hexadecimal.text(bytes.dropFirst()) == "ab02")
        #expect(Hexadecimal.text(AnySequence(bytes)) == "01ab02")
        #expect(Hexadecimal.bytes("xab02".dropFirst()) == [0xAB, 0x02])
    }

    @Test func noBytesAreEmptyText() {
        #expect(Hexadecimal.text([]) == "")
        #expect(Hexadecimal.bytes("") == [])
    }

    @Test(arguments: ["0", "abc", "0g", "+5", "-0", " 0", "0x00", "00\n", "é", "\u{FF10}0"])
    func textThatIsNotPairsOfDigitsHasNoBytes(_ text: String) {
        #expect(Hexadecimal.bytes(text) == nil)
    }
}
