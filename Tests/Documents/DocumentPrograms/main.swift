import CloudKit

// Programs in the manner of the founding documents, one process for each device: a line of standard
// input is a tap of the user, a line of standard output is what the user sees.

protocol Program {
    /// Does what a line says; answers with one line, sooner or later.
    func tap(_ words: [String])
}

/// The one way from here to the programs, which are deprecated throughout, as what they call is:
/// the requirement of a protocol keeps the warnings out of this build.
protocol ProgramMaking {
    func make() -> Program
}

setvbuf(stdout, nil, Int32(_IOLBF), 0)

let programs: [String: ProgramMaking] = ["memo": MemoProgram(), "tasks": TasksProgram()]
guard CommandLine.arguments.count == 2, let maker = programs[CommandLine.arguments[1]] else {
    print("Say which program: memo or tasks.")
    exit(64)
}
let program = maker.make()
say("ready")
while let line = readLine() {
    program.tap(line.split(separator: " ").map(String.init))
}
// As the system does when an app goes to the background.
UserDefaults.standard.synchronize()
