"""A command on a terminal of its own: prints what it would show there, its status in the last line.

    terminal.py COLUMNSxROWS COMMAND...

Line ends are those of files. Standard input is the terminal too, without a key pressed."""
import fcntl
import os
import pty
import struct
import sys
import termios

columns, rows = map(int, sys.argv[1].split("x"))
process, terminal = pty.fork()
if process == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    os.execvp(sys.argv[2], sys.argv[2:])
output = b""
while True:
    try:
        part = os.read(terminal, 65536)
    except OSError:  # Linux: EIO when the last one who held the terminal has closed it
        break
    if not part:
        break
    output += part
status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
sys.stdout.buffer.write(output.replace(b"\r\n", b"\n") + f"status {status}\n".encode())
