! SPDX-License-Identifier: MIT
!
! timesync MS PROCESSES SECONDS - join as one of PROCESSES processes, wait SECONDS, and
! call tsct_timesync() with a timeout of MS ms
!
! Prints, per step, its name, the error number and the reason.
program timesync
  use, intrinsic :: iso_c_binding, only: c_int
  use tsctrace
  implicit none
  integer :: err
  character(200) :: why
  character(5) :: short

  interface
    function c_sleep(seconds) result(left) bind(c, name='sleep')
      import :: c_int
      integer(c_int), value :: seconds
      integer(c_int) :: left
    end function c_sleep
  end interface

  call tsct_timesync_join(argument(2), err, why)
  call report('join')
  if (c_sleep(int(argument(3), c_int)) /= 0) stop 2
  call tsct_timesync(argument(1), err, why)
  call report('timesync')
  call tsct_timesync_leave()
  ! A reason that does not fit is cut, and one that is not wanted is left out.
  call tsct_timesync_join(-1, err, short)
  why = short
  call report('cut')
  call tsct_timesync_join(-1, err)

contains

  integer function argument(i)
    integer, intent(in) :: i
    character(20) :: text

    call get_command_argument(i, text)
    read (text, *) argument
  end function argument

  subroutine report(step)
    character(*), intent(in) :: step

    print '(a, " ", i0, " [", a, "]")', step, err, trim(why)
  end subroutine report
end program timesync
