import Foundation
import StratusRecords
import StratusWire

extension ContainerSession {
    /// Fetches the metadata of the shares behind links.
    ///
    /// - Parameter rootRecord: which keys of the root record to fetch; nil fetches no root record.
    func shareMetadata(
        for urls: [URL], rootRecord: (desiredKeys: [CKRecord.FieldKey]?, Void)? = nil
    ) async throws -> [ItemResult<URL, CKShareMetadata>] {
        func link(_ url: URL) throws -> ShortGUIDDictionary {
            var link = try Self.link(url)
            link.shouldFetchRootRecord = rootRecord == nil ? nil : true
            link.rootRecordDesiredKeys = rootRecord?.desiredKeys
            return link
        }
        let found = try await results(
            urls, wire: link,
            ask: { try await send(RecordsResolve.self, .init($0)).items },
            read: { url, answer in
                try metadata(answer, link: try link(url), key: ShareLinkKey.key(in: url))
            })
        await completeRootRecords(of: found.compactMap(\.result.success))
        return found
    }

    /// Asks the owners of shares for access.
    func requestAccess(
        to urls: [URL]
    ) async throws -> [ItemResult<URL, Void>] {
        try await results(
            urls, wire: Self.link,
            ask: { try await send(RecordsRequestAccess.self, .init($0)).items },
            read: { url, answer in
                let asked = try Self.link(url).value
                switch answer {
                case .success(let request):
                    try AnswerMatching.check(request.shortGUID.value, asked)
                case .failure(let failure):
                    try AnswerMatching.check(failure.shortGUID?.value, asked)
                    throw CKError(failure.error, about: .record)
                }
            })
    }

    /// The parts of a share's link.
    private static func link(_ url: URL) throws -> ShortGUIDDictionary {
        guard let shortGUID = ShareLink.shortGUID(of: url) else {
            throw CKError(
                .invalidArguments,
                "The URL is not a share's link; give one such as …/share/<identifier>.")
        }
        return ShortGUIDDictionary(
            value: shortGUID, oneTimeToken: ShareLink.oneTimeToken(of: url))
    }

    /// Joins shares, each in its own container. A container that does not answer fails only its own
    /// shares.
    ///
    /// - Throws: `CKError` when no container answered.
    func accept(
        _ metadatas: [CKShareMetadata]
    ) async throws -> [ItemResult<CKShareMetadata, CKShare>] {
        var accepted: [CKShareMetadata: Result<CKShare, any Error>] = [:]
        let groups = Dictionary(grouping: metadatas, by: \.containerIdentifier)
        var failures: [CKError] = []
        for (container, group) in groups {
            let session = ContainerSession(
                core: container == core.identifier
                    ? core : core.connection.containerCore(container),
                pace: pace)
            do {
                for (metadata, result) in try await session.join(group) {
                    accepted[metadata] = result
                }
            } catch {
                // The result of each share of the container; thrown below if no container answered.
                let error = CKError(requestFailedWith: error)
                failures.append(error)
                for metadata in group { accepted[metadata] = .failure(error) }
            }
        }
        if let error = failures.first, failures.count == groups.count { throw error }
        return metadatas.compactMap { metadata in
            accepted[metadata].map { (metadata, $0) }
        }
    }

    private func join(
        _ metadatas: [CKShareMetadata]
    ) async throws -> [ItemResult<CKShareMetadata, CKShare>] {
        let joined = try await results(
            metadatas, wire: \.joiningLink,
            ask: { try await send(RecordsAccept.self, .init($0)).items },
            read: { item, answer in
                try metadata(answer, link: item.joiningLink, key: item.linkKey).share
            })
        return await keepingKeys(of: joined)
    }

    private func metadata(
        _ result: ShareResult, link: ShortGUIDDictionary, key: ZoneKey?
    ) throws -> CKShareMetadata {
        switch result {
        case .success(let dictionary):
            try AnswerMatching.check(dictionary, link: link, container: core.identifier)
            return try CKShareMetadata(
                dictionary, link: link, container: core.identifier,
                linkOrigin: core.connection.transport.shareLinkOrigin, linkKey: key,
                encryptedKeys: core.encryptedFields.keysToRead)
        case .failure(let failure):
            try AnswerMatching.check(failure.shortGUID?.value, link.value)
            throw CKError(failure.error, about: .record)
        }
    }
}

extension CKShareMetadata {
    /// The link as a request to join sends it, without a root record.
    fileprivate var joiningLink: ShortGUIDDictionary {
        ShortGUIDDictionary(value: link.value, oneTimeToken: link.oneTimeToken)
    }
}
