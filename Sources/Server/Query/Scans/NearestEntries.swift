import HeapModule
import StratusMatching
import StratusRecords
import StratusStorage

/// Reads the entries of a zone's index of locations in rings of growing distance.
///
/// A heap holds cells of the earth's surface by the least distance of anything in them. The nearest cell is read if it
/// has few entries, otherwise split in four. Once enough places are found, cells that begin farther away than the last
/// of them are skipped. The cost depends on what is found, not on the zone's size.
///
/// Source: Hjaltason and Samet, "Distance Browsing in Spatial Databases", ACM TODS 24 (1999).
struct NearestEntries {
    let reader: any StoreReader
    let index: IndexRow.Key
    let zone: ZoneRow.Key
    let centre: Location
    /// The most entries at one distance.
    let limit: Int

    /// The entries of places farther than `inner` and no farther than `outer`, and a few from outside.
    struct Ring {
        var inner: Double
        var outer: Double
        var entries: [IndexEntry]
        /// Entries that were read for it, including those of cells that were too full.
        var entriesRead = 0
    }

    /// A cell with more entries is split in four.
    private static let entriesPerCell = 64
    /// When this many cells wait, further ones are read before they are split: at a pole each level has twice as many
    /// cells at the same distance.
    private static let waitingCells = 1_024
    /// A place is within two centimetres of its cell's centre; arithmetic rounds.
    private static let slackMetres = 0.02

    private struct Cell: Comparable {
        var cell: PlaceCell
        /// Bounds of the distance to everything in the cell, in metres.
        var nearest: Double
        var farthest: Double

        init(_ cell: PlaceCell, from centre: Location) {
            self.cell = cell
            let distance = centre.distance(to: cell.centre)
            let radius = cell.radius + NearestEntries.slackMetres
            (nearest, farthest) = (distance - radius, distance + radius)
        }

        static func < (left: Cell, right: Cell) -> Bool { left.nearest < right.nearest }
    }

    private struct Found {
        var entry: IndexEntry
        var distance: Double
    }

    /// The ring that begins at a distance and has as many records as wanted.
    ///
    /// - Parameter end: The largest distance of interest; a ring with fewer records ends there.
    func ring(beyond inner: Double, wanted: Int, upTo end: Double) throws -> Ring {
        var found: [Found] = []
        var outer = end
        var cells: Heap<Cell> = [Cell(.world, from: centre)]
        var entriesRead = 2 * wanted
        var radiusRead = try radiusRead(beyond: inner, wanted: wanted)
        while let next = cells.popMin(), next.nearest <= outer + Self.slackMetres {
            let isDeepest = next.cell.level == PlaceCell.deepestLevel
            var entries: [IndexEntry]?
            if isDeepest || next.cell.radius <= radiusRead || cells.count >= Self.waitingCells {
                let most = isDeepest ? limit : Self.entriesPerCell
                entries = try read(next.cell, atMost: most)
                entriesRead += entries?.count ?? most + 1
                if isDeepest, entries == nil { throw ServiceError.tooManyAtOnePlace }
                // Where records are dense, try smaller cells from here on; elsewhere larger ones.
                if entries == nil {
                    radiusRead = next.cell.radius / 2
                } else if let entries, entries.count < Self.entriesPerCell / 8 {
                    radiusRead *= 2
                }
            }
            guard let entries else {
                for quarter in next.cell.quarters {
                    let cell = Cell(quarter, from: centre)
                    if cell.farthest >= inner, cell.nearest <= outer + Self.slackMetres {
                        cells.insert(cell)
                    }
                }
                continue
            }
            for entry in entries {
                guard let place = PlaceCell.centre(ofKey: entry.key) else { continue }
                let distance = centre.distance(to: place)
                if distance > inner - Self.slackMetres, distance <= outer + Self.slackMetres {
                    found.append(Found(entry: entry, distance: distance))
                }
            }
            if found.count > 2 * wanted { try cut(&found, to: wanted, beyond: inner, &outer) }
        }
        if found.count > wanted { try cut(&found, to: wanted, beyond: inner, &outer) }
        return Ring(
            inner: inner, outer: outer, entries: found.map(\.entry), entriesRead: entriesRead)
    }

    /// Keeps as many of the nearest as wanted, and those at the same distance as the last.
    private func cut(
        _ found: inout [Found], to wanted: Int, beyond inner: Double, _ outer: inout Double
    ) throws {
        found.sort { $0.distance < $1.distance }
        // A ring is wide enough that the next one begins beyond what lies at its end.
        outer = min(outer, max(found[wanted - 1].distance, inner + 0.05))
        let bound = outer + Self.slackMetres
        found.removeSubrange((found.firstIndex { $0.distance > bound } ?? found.endIndex)...)
        if found.count > limit { throw ServiceError.tooManyAtOnePlace }
    }

    /// The entries of a cell; nil when there are more.
    private func read(_ cell: PlaceCell, atMost count: Int) throws -> [IndexEntry]? {
        let entries = try reader.entries(
            of: index, in: zone, between: cell.keys.bounds, isAscending: true, limit: count + 1)
        return entries.count > count ? nil : entries
    }

    /// The radius of the first cells to read: an estimate that affects only the time.
    ///
    /// Neighbours in the index are usually neighbours on the earth. Within the distance of a number of
    /// them there are at least that many records.
    private func radiusRead(beyond inner: Double, wanted: Int) throws -> Double {
        let key = PlaceCell.key(of: centre)
        let sides = [
            KeyRange(lower: key, upper: IndexKey.last), KeyRange(lower: IndexKey.first, upper: key),
        ]
        let distances = try sides.enumerated().flatMap { number, side in
            try reader.entries(
                of: index, in: zone, between: side.bounds, isAscending: number == 0, limit: wanted
            ).compactMap { PlaceCell.centre(ofKey: $0.key).map(centre.distance) }
        }.sorted()
        guard distances.count >= wanted else { return .infinity }
        return max(2 * distances[wanted - 1], inner / 4)
    }
}

extension ServiceError {
    fileprivate static let tooManyAtOnePlace = overLimit(
        "Too many records lie at the same distance; narrow the query with a filter.")
}
