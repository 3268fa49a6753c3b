import StratusSchema
import StratusService

private var service: CloudService { fatalError() }
/// The schema in the schema language.
private var text: String { fatalError() }
