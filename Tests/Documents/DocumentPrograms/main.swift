import CloudKit

// Programs in the style of the founding documents, one process for each device: a line of standard
// input is a tap of the user, a line of standard output is what the user sees.

protocol Program {
    /// Carries out a line of input, and answers with one line at some time.
    func tap(_ words: [String])
}

/// The only way from here to the programs, which are deprecated throughout, like the functions that they call:
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
