import StratusRecords
import StratusWire

/// The body of a request.
private var body: [UInt8] { fatalError() }
