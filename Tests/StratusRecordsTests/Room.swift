import Testing
@Test func room() {}
