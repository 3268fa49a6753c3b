import StratusRecords
import StratusStorage

private var address: DatabaseAddress { fatalError() }
private var store: any RecordStore { fatalError() }
