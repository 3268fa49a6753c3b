import Foundation
import StratusRecords
import StratusWire

extension ContainerSession {
    /// Says what is behind the links of shares.
    ///
    /// - Parameter rootRecord: whether to fetch the root with it, and which of its keys; nil is no
    ///   root.
    func shareMetadata(
        for urls: [URL], rootRecord: (desiredKeys: [CKRecord.FieldKey]?, Void)? = nil
    ) async throws -> [(item: URL, result: Result<CKShareMetadata, any Error>)] {
        try await results(
            urls,
            wire: { url in
                guard let shortGUID = ShareLink.shortGUID(of: url) else {
                    throw CKError(
                        .invalidArguments, "Give the link of a share: …/share/<identifier>.")
                }
                return ShortGUIDDictionary(
                    value: shortGUID, shouldFetchRootRecord: rootRecord == nil ? nil : true,
                    rootRecordDesiredKeys: rootRecord?.desiredKeys)
            },
            ask: { try await send(RecordsResolve.self, .init(shortGUIDs: $0)).results },
            read: { _, answer in try metadata(answer) })
    }

    /// Joins shares, each in its own container.
    func accept(
        _ metadatas: [CKShareMetadata]
    ) async throws -> [(item: CKShareMetadata, result: Result<CKShare, any Error>)] {
        var accepted: [CKShareMetadata: Result<CKShare, any Error>] = [:]
        for (container, group) in Dictionary(grouping: metadatas, by: \.containerIdentifier) {
            let session = ContainerSession(
                core: container == core.identifier
                    ? core : ContainerCore(identifier: container, connection: core.connection),
                pace: pace)
            for (metadata, result) in try await session.join(group) { accepted[metadata] = result }
        }
        return metadatas.compactMap { metadata in
            accepted[metadata].map { (metadata, $0) }
        }
    }

    private func join(
        _ metadatas: [CKShareMetadata]
    ) async throws -> [(item: CKShareMetadata, result: Result<CKShare, any Error>)] {
        try await results(
            metadatas, wire: { ShortGUIDDictionary(value: $0.shortGUID) },
            ask: { try await send(RecordsAccept.self, .init(shortGUIDs: $0)).results },
            read: { _, answer in try metadata(answer).share })
    }

    private func metadata(_ result: ShareResult) throws -> CKShareMetadata {
        switch result {
        case .share(let dictionary):
            return try CKShareMetadata(
                dictionary, container: core.identifier,
                linkOrigin: core.connection.transport.shareLinkOrigin)
        case .failure(_, let error): throw CKError(error, about: .record)
        }
    }
}
