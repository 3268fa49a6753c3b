import StratusCache
import StratusClient
import StratusRecords
import StratusSync
import StratusTesting

extension SimulationRun {
    func perform(_ step: Step) async throws {
        switch step {
        case .edit(let number, let record, let field): try edit(number, record, field)
        case .make(let number, let record): try make(number, record)
        case .delete(let number, let record): try delete(number, record)
        case .sync(let number): try devices[number].sync()
        case .start(let number): try devices[number].start()
        case .stop(let number): try devices[number].stop()
        case .kill(let number): try devices[number].kill()
        case .drop(let number): try devices[number].letGo()
        case .killAtWrite(let number, let later, let isAfter):
            try devices[number].setWriteFailure(
                isAfter ? .killedAfter : .killedBefore, later: later, writes: 1)
        case .cutPower(let number, let later, let end):
            try devices[number].cutPower(end, later: later)
        case .endService(let later, let end): cloud.endService(end, later: later)
        case .dieUnanswered(let number): try devices[number].dieUnanswered()
        case .transfer(let user): try await transfer(user)
        case .fillDisk(let number, let writes):
            try devices[number].setWriteFailure(.storageFull, later: 0, writes: writes)
        case .fillService(let seconds): cloud.fillDisk(seconds: seconds)
        case .cutOff(let number): devices[number].dice.isCutOff = true
        case .reconnect(let number): devices[number].dice.isCutOff = false
        case .deleteZone(let number): try deleteZone(number)
        case .purgeZone(let user):
            ledger.brokenZones.insert([user, 1])
            cloud.purge(Plan.zones[1], userRecordName: userRecordNames[user])
        case .fillGoneZone(let number): try fillGoneZone(number)
        case .deleteGoneZone(let number): try deleteGoneZone(number)
        case .switchAccount(let number):
            try devices[number].switchAccount(to: (devices[number].user + 1) % plan.userCount)
        case .updateApp(let number):
            guard plan.newerRecords != nil else { return }
            try devices[number].updateApp()
        case .leave(let number): try leave(number)
        case .join(let user): try await join(user)
        case .takeCopy: try cloud.takeCopy()
        case .restoreCopy: try restoreCopy()
        case .audit: try checkObservers()
        case .attach(let number, let record, let isCommon):
            try attach(number, record, isCommon: isCommon)
        case .detach(let number, let record): try detach(number, record)
        case .look(let number, let record): try look(number, record)
        case .lookAtAll(let number):
            for record in 0..<Plan.recordsPerZone.reduce(0, +) { try look(number, record) }
        case .evict(let number): try evict(number)
        case .detachZone(let number): try detachZone(devices[number])
        case .attachZones(let number): try attachZones(devices[number])
        case .discard(let number): try discard(devices[number])
        case .takeServiceVersions(let number): try takeServiceVersions(devices[number])
        case .retry(let number): try retry(devices[number])
        case .refetchEverything(let number): try refetchEverything(devices[number])
        case .deleteEverything(let number): try deleteEverything(devices[number])
        case .app(let step): try await perform(step)
        case .turns(let count): await world.turns(count)
        case .pass(let seconds): try await world.pass(seconds: Double(seconds))
        case .jump(let seconds):
            world.jump(seconds: Double(seconds))
            sleptSeconds += seconds
            if wasRestored, seconds >= SimulatedCloud.tombstoneSeconds {
                ledger.areDeletionsForgotten = true
            }
        }
    }

    private func restoreCopy() throws {
        guard try cloud.restoreCopy() else { return }
        cloud.count("older copy restored")
        wasRestored = true
        ledger.mayMixRecords = true
    }

    // MARK: What a user does

    private func make(_ number: Int, _ record: Int) throws {
        let device = devices[number]
        let (key, id, scope) = place(record, of: device)
        guard isMaker(number, of: key), try device.opened().record(for: id, in: scope) == nil
        else { return try edit(number, record, 0) }
        let item = CKRecord(recordType: "Item", recordID: id)
        let life = ledger.nextNumber()
        item["life"] = life
        item[Plan.fields[0]] = life
        guard try save(item, device, scope, field: Plan.fields[0], number: life) else { return }
        ledger.made(key, life)
        try noteEdit(key, life, 0, life, id, device, scope)
    }

    private func edit(_ number: Int, _ record: Int, _ field: Int) throws {
        let device = devices[number]
        let (key, id, scope) = place(record, of: device)
        guard let item = try device.opened().record(for: id, in: scope),
            let life = item["life"] as Int64?
        else { return }
        let edit = ledger.nextNumber()
        item[Plan.fields[field]] = edit
        guard try save(item, device, scope, field: Plan.fields[field], number: edit) else { return }
        try noteEdit(key, life, field, edit, id, device, scope)
    }

    /// - Returns: whether it is in the file, even if the process ended during the save.
    private func save(
        _ item: CKRecord, _ device: SimulatedDevice, _ scope: CKDatabase.Scope, field: String,
        number: Int64
    ) throws -> Bool {
        if field == Plan.fields[0] { device.writeCopy(in: item) }
        do {
            try device.opened().save(item, in: scope)
            if device.openCache != nil { return true }
        } catch {
            // The disk was full or the process ended; the file says which.
        }
        let there = try device.opened().record(for: item.recordID, in: scope)
        return there?[field] as Int64? == number
    }

    func noteEdit(
        _ key: Ledger.Key, _ life: Int64, _ field: Int, _ number: Int64, _ id: CKRecord.ID,
        _ device: SimulatedDevice, _ scope: CKDatabase.Scope
    ) throws {
        let saved = try device.opened().snapshot(RecordID(id), in: scope)
        let name = Plan.name(ofField: field)
        let times = FieldTimes(saved?[FieldWise.defaultFieldTimesKey])
        let stamp =
            try times.milliseconds(of: saved?.field(name), name)
            ?? device.world.nowMilliseconds() + device.clockOffset(in: scope)
        ledger.edited(
            key, life: life, field: field,
            Ledger.Edit(
                number: number, stamp: stamp,
                ownClock: try device.isClockCorrected(in: scope) ? nil : scope,
                user: device.user, device: device.name))
    }

    private func delete(_ number: Int, _ record: Int) throws {
        let device = devices[number]
        let (key, id, scope) = place(record, of: device)
        guard let life = try device.opened().record(for: id, in: scope)?["life"] as Int64?
        else { return }
        do {
            try device.opened().delete(id, in: scope)
        } catch {
            // As in save(_:_:_:field:number:).
        }
        guard try device.opened().record(for: id, in: scope) == nil else { return }
        ledger.deleted(key, life: life, by: device.user)
    }

    private func deleteZone(_ number: Int) throws {
        let device = devices[number]
        ledger.brokenZones.insert([device.user, 1])
        do {
            try device.opened().deleteZone(CKRecordZone.ID(zoneName: Plan.zones[1]))
        } catch {
            // The disk was full or the process ended: it may or may not be deleted.
            return
        }
    }

    private func leave(_ number: Int) throws {
        let device = devices[number]
        guard device.user != 0 else { return }
        let zone = CKRecordZone.ID(zoneName: Plan.zones[0], ownerName: userRecordNames[0])
        guard try device.opened().zoneIDs(in: .shared).contains(zone) else { return }
        ledger.left(owner: 0, by: device.user)
        do {
            try device.opened().deleteZone(zone, in: .shared)
            // If the process has ended, or the user is opening the link of the share, the outcome is unknown.
            if device.openCache != nil, !links.isBeingOpened(by: device.user) {
                strangers.insert(device.user)
            }
        } catch {
            // As above.
            return
        }
    }

    func checkObservers() throws {
        for device in devices {
            violations += try device.wrongObservations()
        }
        violations += wrongLooks()
        if plan.hasTransfers { violations += try wrongSums() }
    }
}
