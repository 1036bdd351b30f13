"""Names of tools that do more than their family says, and names of arguments.

Tools are in lower case, without separators and servers.
"""

from __future__ import annotations

BACKGROUND = frozenset(("run_in_background", "is_background", "background", "isBackground"))
REMOTE_SHELLS = frozenset(("sshexec",))

READ = ("wc", "readnotebook", "getnotebooksummary", "readcell")
WRITE = ("echo", "savetofile", "overwritefile")
CREATE = (
    "create", "createfile", "newfile", "touch", "createnewfile", "createtextfile", "filecreate",
)  # fmt: skip
APPEND = ("appendfile", "appendtofile", "fileappend")
DELETE = (
    "delete", "deletefile", "removefile", "rm", "rmdir", "deletefiles", "removefiles",
    "deletedirectory", "removedirectory", "unlink", "filedelete", "deletepath",
)  # fmt: skip
MAKE_DIRECTORY = ("createdirectory", "mkdir", "makedirectory", "createfolder")
EDIT = ("notebookedit", "editnotebook", "editnotebookfile", "editcell", "insertcell", "deletecell")
INSERT = ("insert", "insertline", "inserttext", "insertatline")
PATCH = ("applypatch", "patch", "applypatches", "gitapply", "patchfile")
EDITOR = (
    "strreplaceeditor", "strreplacebasededittool", "texteditor", "editor", "fileeditor",
    "planningfileeditor", "memory",
)  # fmt: skip
MOVE = ("movefile", "movefiles", "movepath", "mv", "renamefile", "move", "rename")
COPY = ("copyfile", "copypath", "cp", "copy")
STOP = (
    "killshell", "killbash", "killprocess", "stopprocess", "forceterminate", "taskstop",
    "killterminal", "jobkill", "stopbash",
)  # fmt: skip
CHANGE_DIRECTORY = ("cd", "chdir", "changedirectory", "setworkingdirectory")

PATHS = (
    "file_path", "path", "filePath", "absolute_path", "filename", "file_name", "target_file",
    "targetFile", "notebook_path", "TargetFile", "AbsolutePath", "relative_path", "relativePath",
    "file", "filepath", "absolutePath", "dir_name", "directory", "dirPath", "uri", "fileName",
    "folder_path",
)  # fmt: skip
PATH_LISTS = ("paths", "files", "file_paths", "filePaths")
SOURCES = ("source", "old_path", "src", "from", "source_path", "oldPath", "sourcePath", "path")
TARGETS = (
    "destination", "new_path", "dst", "to", "destination_path", "newPath", "target", "dest",
    "destinationPath", "new_name",
)  # fmt: skip
PATCHES = (
    "input", "patch", "patchText", "patch_text", "diff", "content", "unified_diff",
    "patch_content",
)  # fmt: skip
PROCESSES = ("shell_id", "bash_id", "task_id", "pid", "session_id", "process_id", "id")
