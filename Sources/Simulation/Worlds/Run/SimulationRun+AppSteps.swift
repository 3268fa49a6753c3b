extension SimulationRun {
    func perform(_ step: AppStep) async throws {
        switch step {
        case .saveTogether(let number, let records, let field, let deleted, let isOwn):
            try saveTogether(number, records, field: field, deleting: deleted, isOwn: isOwn)
        case .saveList(let number, let list, let field):
            try saveList(number, list, field: field)
        case .deleteList(let number, let list): try deleteList(number, list)
        case .makeNotebook(let number, let notebook): try makeNotebook(number, notebook)
        case .shareNotebook(let number, let notebook): try shareNotebook(number, notebook)
        case .joinNotebook(let number, let notebook): try joinNotebook(number, notebook)
        case .leaveNotebook(let number, let notebook): try leaveNotebook(number, notebook)
        case .stopSharing(let number, let notebook): try stopSharing(number, notebook)
        case .openLink(let number): try openLink(number)
        case .editPage(let number, let notebook, let page):
            try editPage(number, notebook, page)
        case .movePage(let number, let notebook, let page):
            try movePage(number, notebook, page)
        case .deletePage(let number, let notebook, let page):
            try deletePage(number, notebook, page)
        case .saveDirectly(let number, let isAtomic, let isStale):
            try await saveDirectly(number, isAtomic: isAtomic, isStale: isStale)
        case .editDirect(let number, let name): try editDirect(number, name)
        }
    }
}
