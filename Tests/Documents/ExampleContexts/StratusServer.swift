import Logging
import ServiceLifecycle
import StratusServer
import StratusService

private var service: CloudService { fatalError() }
