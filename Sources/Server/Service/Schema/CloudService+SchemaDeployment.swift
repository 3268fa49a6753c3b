import StratusSchema
import StratusWire

extension CloudService {
    /// Reads, replaces and deploys the schemas of a container.
    public func schemaDeployment(of container: String) -> SchemaDeployment {
        SchemaDeployment(
            container: container, storage: storage,
            createContainerIfNeeded: accounts.createContainerIfNeeded,
            fieldNames: { row in
                Set(try RecordFields.encoded(row.payload).values().map(\.name))
            },
            onChange: components.schemas.forget)
    }
}
