import StratusRecords
import StratusService
import StratusStorage
import StratusWire

private var storage: SQLiteStorageEngine { fatalError() }
private var credentials: Credentials { fatalError() }
private var service: CloudService { fatalError() }
private var signIn: Accounts.SignIn { fatalError() }
private var password: String { fatalError() }
private var address: ContainerAddress { fatalError() }
